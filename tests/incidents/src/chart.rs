//! A chart of an incident: then above, now below, on the same scales, as SVG that stands in the page.

use anyhow::{Result, anyhow};
use plotters::coord::Shift;
use plotters::prelude::*;

/// Width, and height of one panel, in pixels of their own.
const PANEL: (u32, u32) = (900, 230);

/// Colours that are told apart in print and by eyes that see no red: after Okabe and Ito.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ink {
    /// Admitted, of the caller in question.
    Sky,
    /// Refused, of the caller in question.
    Vermilion,
    /// Admitted, of others.
    Green,
    /// Refused, of others.
    Purple,
    /// Answered without the application.
    Amber,
}

impl Ink {
    const fn colour(self) -> RGBColor {
        match self {
            Self::Sky => RGBColor(0x56, 0xb4, 0xe9),
            Self::Vermilion => RGBColor(0xd5, 0x5e, 0x00),
            Self::Green => RGBColor(0x00, 0x9e, 0x73),
            Self::Purple => RGBColor(0xcc, 0x79, 0xa7),
            Self::Amber => RGBColor(0xe6, 0x9f, 0x00),
        }
    }
}

/// One line: its name, and a value for each span.
#[derive(Debug)]
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) ink: Ink,
    pub(crate) values: Vec<f64>,
}

/// Two panels.
#[derive(Debug)]
pub(crate) struct Chart {
    /// What stands along the horizontal axis: the name of a span's number is `label(number)`.
    pub(crate) along: String,
    /// How much of that a span is, or what each is called.
    pub(crate) spans: Spans,
    /// What is counted.
    pub(crate) up: &'static str,
    pub(crate) then: (String, Vec<Series>),
    pub(crate) now: (String, Vec<Series>),
}

/// What the spans of a chart are.
#[derive(Debug)]
pub(crate) enum Spans {
    /// Each so much of the unit.
    Even(f64),
    /// Each a thing of its own.
    Named(Vec<&'static str>),
}

type Drawn = std::result::Result<(), Box<dyn std::error::Error>>;

impl Chart {
    /// The chart as SVG.
    ///
    /// # Errors
    ///
    /// It cannot be drawn.
    pub(crate) fn svg(&self) -> Result<String> {
        let mut svg = String::new();
        {
            let size = (PANEL.0, PANEL.1 * 2);
            let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
            let drawn = self.draw(&area);
            drawn.map_err(|error| anyhow!("a chart cannot be drawn: {error}"))?;
        }
        // In a page an SVG needs no namespace.
        Ok(svg
            .replace(r#" xmlns="http://www.w3.org/2000/svg""#, "")
            .replacen("<svg ", r#"<svg role="img" "#, 1))
    }

    fn draw(&self, area: &DrawingArea<SVGBackend<'_>, Shift>) -> Drawn {
        area.fill(&WHITE)?;
        let all = || self.then.1.iter().chain(&self.now.1);
        let values = all().flat_map(|series| &series.values);
        let highest = values.fold(0.0_f64, |most, value| most.max(*value));
        let spans = all().map(|series| series.values.len()).max().unwrap_or(0);
        let panels = area.split_evenly((2, 1));
        for (panel, (name, series)) in panels.iter().zip([&self.then, &self.now]) {
            self.panel(panel, name, series, (spans, highest))?;
        }
        area.present()?;
        Ok(())
    }

    fn panel(
        &self,
        area: &DrawingArea<SVGBackend<'_>, Shift>,
        name: &str,
        series: &[Series],
        (spans, highest): (usize, f64),
    ) -> Drawn {
        let end = (spans as f64).max(1.0);
        let mut chart = ChartBuilder::on(area)
            .caption(name, ("sans-serif", 15))
            .margin(8)
            .x_label_area_size(34)
            .y_label_area_size(64)
            .build_cartesian_2d(0.0..end, 0.0..(highest * 1.25).max(1.0))?;
        let label = |place: &f64| match &self.spans {
            Spans::Even(length) => format!("{}", (place * length * 10.0).round() / 10.0),
            Spans::Named(names) => {
                let name = names.get(*place as usize);
                name.map_or_else(String::new, |name| (*name).to_owned())
            }
        };
        let labels = match &self.spans {
            Spans::Even(_) => 10,
            Spans::Named(names) => names.len() + 1,
        };
        chart
            .configure_mesh()
            .disable_x_mesh()
            .light_line_style(WHITE)
            .x_labels(labels)
            .y_labels(5)
            .x_label_formatter(&label)
            .y_label_formatter(&|value| format!("{}", value.round()))
            .x_desc(self.along.as_str())
            .y_desc(self.up)
            .draw()?;
        for Series { name, ink, values } in series {
            let colour = ink.colour();
            let corners = values.iter().enumerate().flat_map(|(place, value)| {
                let place = place as f64;
                [(place, *value), (place + 1.0, *value)]
            });
            chart
                .draw_series(LineSeries::new(corners, colour.stroke_width(2)))?
                .label(name.as_str())
                .legend(move |(x, y)| {
                    Rectangle::new([(x, y - 3), (x + 12, y + 3)], colour.filled())
                });
        }
        chart
            .configure_series_labels()
            .background_style(WHITE.mix(0.85))
            .border_style(RGBColor(0xcc, 0xcc, 0xcc))
            .position(SeriesLabelPosition::UpperRight)
            .draw()?;
        Ok(())
    }
}
