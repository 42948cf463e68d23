//! Charts, as SVG that stands in the page.

use anyhow::{Result, anyhow};
use plotters::prelude::*;

use super::model::{Tier, Timeline, Top};
use super::numbers::grouped;
use crate::output::cut;
use crate::simulate::moment;
use crate::simulate::number::{float, whole};

/// The width of every chart, and the height of most, in pixels of their own.
const SIZE: (u32, u32) = (900, 280);

/// Colours that are told apart in print and by eyes that see no red: after Okabe and Ito.
const ADMITTED: RGBColor = RGBColor(0x56, 0xb4, 0xe9);
const REFUSED: RGBColor = RGBColor(0xd5, 0x5e, 0x00);
const SERIES: [RGBColor; 6] = [
    REFUSED,
    RGBColor(0x00, 0x72, 0xb2),
    RGBColor(0x00, 0x9e, 0x73),
    RGBColor(0xcc, 0x79, 0xa7),
    RGBColor(0xe6, 0x9f, 0x00),
    RGBColor(0x44, 0x44, 0x44),
];

/// The longest name on an axis, in characters.
const MOST_SHOWN: usize = 28;

/// One line of a chart: its name, and a value for each span.
struct Series<'a> {
    name: &'a str,
    colour: RGBColor,
    values: Vec<f64>,
    filled: bool,
}

/// What was admitted and what was refused, per second.
pub(super) fn outcomes(timeline: &Timeline) -> Result<String> {
    let admitted = |span: &[u64]| span.first().copied().unwrap_or(0);
    let refused = |span: &[u64]| span.iter().skip(1).sum::<u64>();
    over_time(
        timeline,
        vec![
            Series {
                name: "all requests",
                colour: ADMITTED,
                values: per_second(timeline, |span| {
                    admitted(span).saturating_add(refused(span))
                }),
                filled: true,
            },
            Series {
                name: "refused",
                colour: REFUSED,
                values: per_second(timeline, refused),
                filled: true,
            },
        ],
    )
}

/// The columns of a timeline that are not empty, each a line, but for the first or last of which there are `but`.
pub(super) fn columns(timeline: &Timeline, but: &[&str]) -> Result<Option<String>> {
    let columns = timeline.columns.iter().enumerate();
    let series: Vec<_> = columns
        .filter(|(_, name)| !but.contains(&name.as_str()))
        .map(|(index, name)| {
            let values = per_second(timeline, |span| span.get(index).copied().unwrap_or(0));
            (name, values)
        })
        .filter(|(_, values)| values.iter().any(|value| *value > 0.0))
        .zip(SERIES.iter().cycle())
        .map(|((name, values), colour)| Series {
            name,
            colour: *colour,
            values,
            filled: false,
        })
        .collect();
    if series.is_empty() {
        Ok(None)
    } else {
        over_time(timeline, series).map(Some)
    }
}

fn per_second(timeline: &Timeline, count: impl Fn(&[u64]) -> u64) -> Vec<f64> {
    let value = |span: &Vec<u64>| float(count(span)) / timeline.span_seconds;
    timeline.spans.iter().map(value).collect()
}

fn over_time(timeline: &Timeline, series: Vec<Series<'_>>) -> Result<String> {
    let spans = timeline.spans.len();
    let end = float(u64::try_from(spans).unwrap_or(0)).max(1.0);
    let highest = series
        .iter()
        .flat_map(|s| &s.values)
        .fold(0.0_f64, |most, v| most.max(*v));
    let width = timeline.width;
    let days = float(width) * end >= 86_400e9;
    drawn(SIZE, |area| {
        let mut chart = ChartBuilder::on(area)
            .margin(8)
            .x_label_area_size(28)
            .y_label_area_size(64)
            .build_cartesian_2d(0.0..end, 0.0..(highest * 1.3).max(1e-9))?;
        let moment = |place: &f64| {
            let passed = whole(*place * float(width));
            moment::brief(timeline.from.saturating_add(passed), days)
        };
        chart
            .configure_mesh()
            .disable_x_mesh()
            .light_line_style(WHITE)
            .x_labels(if days { 5 } else { 8 })
            .y_labels(6)
            .x_label_formatter(&moment)
            .y_label_formatter(&|value| rounded(*value))
            .y_desc("requests/s")
            .draw()?;
        for Series {
            name,
            colour,
            values,
            filled,
        } in series
        {
            let points = steps(&values);
            let legend = move |(x, y)| swatch((x, y), 4, colour);
            if filled {
                let area = AreaSeries::new(points, 0.0, colour.mix(0.55)).border_style(colour);
                chart.draw_series(area)?.label(name).legend(legend);
            } else {
                let line = LineSeries::new(points, colour.stroke_width(2));
                chart.draw_series(line)?.label(name).legend(legend);
            }
        }
        chart
            .configure_series_labels()
            .background_style(WHITE.mix(0.85))
            .border_style(RGBColor(0xcc, 0xcc, 0xcc))
            .position(SeriesLabelPosition::UpperRight)
            .draw()?;
        Ok(())
    })
}

/// What stands beside a name in a legend.
fn swatch((x, y): (i32, i32), half: i32, colour: RGBColor) -> Rectangle<(i32, i32)> {
    let from = (x, y.saturating_sub(half));
    let to = (x.saturating_add(12), y.saturating_add(half));
    Rectangle::new([from, to], colour.filled())
}

/// Each value for the whole of its span.
fn steps(values: &[f64]) -> Vec<(f64, f64)> {
    let corners = values
        .iter()
        .zip(0_u32..)
        .flat_map(|(value, index)| [(f64::from(index), *value), (f64::from(index) + 1.0, *value)]);
    corners.collect()
}

/// Who was refused most.
pub(super) fn top(top: &[Top]) -> Result<String> {
    let names: Vec<String> = top
        .iter()
        .map(|one| cut(&one.caller.to_string(), MOST_SHOWN))
        .collect();
    let count = u32::try_from(top.len()).unwrap_or(0);
    let most = top.iter().map(|one| one.refused).max().unwrap_or(0);
    let height = count.saturating_mul(26).saturating_add(56);
    drawn((SIZE.0, height), |area| {
        let mut chart = ChartBuilder::on(area)
            .margin(8)
            .margin_right(24)
            .x_label_area_size(28)
            .y_label_area_size(230)
            .build_cartesian_2d(
                0.0..float(most).max(1.0) * 1.02,
                (0..count.saturating_sub(1).max(1)).into_segmented(),
            )?;
        chart
            .configure_mesh()
            .disable_y_mesh()
            .light_line_style(WHITE)
            .y_labels(top.len())
            .x_label_formatter(&|value| rounded(*value))
            .y_label_formatter(&|place| {
                let (SegmentValue::Exact(row) | SegmentValue::CenterOf(row)) = place else {
                    return String::new();
                };
                // The first is on top.
                let row = count.saturating_sub(1).checked_sub(*row);
                let row = row.and_then(|row| usize::try_from(row).ok());
                row.and_then(|row| names.get(row))
                    .cloned()
                    .unwrap_or_default()
            })
            .draw()?;
        let bars = top.iter().zip((0..count).rev()).map(|(one, row)| {
            let (from, to) = (
                SegmentValue::Exact(row),
                SegmentValue::Exact(row.saturating_add(1)),
            );
            let mut bar = Rectangle::new([(0.0, from), (float(one.refused), to)], REFUSED.filled());
            bar.set_margin(4, 4, 0, 0);
            bar
        });
        chart.draw_series(bars)?;
        Ok(())
    })
}

/// The burst that each rate needs, with what is written marked.
pub(super) fn curve(tier: &Tier) -> Result<Option<String>> {
    let written = tier.per_second;
    let points: Vec<(f64, f64)> = tier
        .curve
        .iter()
        .map(|p| (p.per_second, float(p.burst)))
        .collect();
    let (Some(first), Some(last)) = (points.first(), points.last()) else {
        return Ok(None);
    };
    let right = last.0.max(written * 2.0);
    let top = points
        .iter()
        .fold(float(tier.burst), |most, point| most.max(point.1))
        * 1.6;
    let marked = (written, float(tier.burst));
    let svg = drawn(SIZE, |area| {
        let mut chart = ChartBuilder::on(area)
            .margin(8)
            .x_label_area_size(44)
            .y_label_area_size(74)
            .build_cartesian_2d(
                (first.0..right).log_scale(),
                (0.8..top.max(2.0)).log_scale(),
            )?;
        chart
            .configure_mesh()
            .light_line_style(WHITE)
            .x_label_formatter(&|rate| {
                crate::simulate::demand::rate(
                    1e9 / rate.max(1e-9),
                    tidegate_core::quota::Period::Second,
                )
            })
            .y_label_formatter(&|burst| rounded(*burst))
            .x_desc("rate")
            .y_desc("burst")
            .draw()?;
        let line = RGBColor(0x00, 0x72, 0xb2);
        chart
            .draw_series(LineSeries::new(
                points.iter().copied(),
                line.stroke_width(2),
            ))?
            .label("enough for the share")
            .legend(move |(x, y)| swatch((x, y), 2, line));
        chart
            .draw_series([Circle::new(marked, 6, REFUSED.filled())])?
            .label("as written")
            .legend(|(x, y)| Circle::new((x.saturating_add(6), y), 5, REFUSED.filled()));
        chart
            .configure_series_labels()
            .background_style(WHITE.mix(0.85))
            .border_style(RGBColor(0xcc, 0xcc, 0xcc))
            .position(SeriesLabelPosition::LowerLeft)
            .draw()?;
        Ok(())
    })?;
    Ok(Some(svg))
}

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;
type Drawn = std::result::Result<(), Box<dyn std::error::Error>>;

fn drawn(size: (u32, u32), draw: impl FnOnce(&Area<'_>) -> Drawn) -> Result<String> {
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        let failed =
            |error: Box<dyn std::error::Error>| anyhow!("a chart cannot be drawn: {error}");
        area.fill(&WHITE).map_err(|error| failed(error.into()))?;
        draw(&area).map_err(failed)?;
        area.present().map_err(|error| failed(error.into()))?;
    }
    // In a page an SVG needs no namespace, and one that can be scaled no size.
    Ok(svg
        .replace(r#" xmlns="http://www.w3.org/2000/svg""#, "")
        .replacen("<svg ", r#"<svg role="img" "#, 1))
}

/// A number on an axis.
fn rounded(value: f64) -> String {
    if value >= 10.0 || value.fract() == 0.0 {
        grouped(whole(value.round()))
    } else {
        format!("{value:.2}")
    }
}
