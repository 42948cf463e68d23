//! What a query asks for, looked up among the series that are told.

use std::collections::BTreeSet;

use promql_parser::label::{MatchOp, Matcher};
use promql_parser::parser::{self, Expr, LabelModifier, VectorSelector};

use super::exported::{Exported, Labels};

/// The labels that the answer to a query has.
///
/// # Panics
///
/// The query is none, or names a series, a label or a value that nobody tells.
pub(crate) fn labels(query: &str, exported: &Exported) -> BTreeSet<String> {
    let parsed = parser::parse(query).unwrap_or_else(|error| panic!("`{query}`: {error}"));
    of(&parsed, exported).unwrap_or_else(|mistake| panic!("`{query}`: {mistake}"))
}

fn of(expr: &Expr, exported: &Exported) -> Result<BTreeSet<String>, String> {
    let mut found = BTreeSet::new();
    match expr {
        Expr::Aggregate(aggregate) => {
            let inner = of(&aggregate.expr, exported)?;
            match &aggregate.modifier {
                Some(LabelModifier::Include(by)) => {
                    for label in &by.labels {
                        need(label, &inner)?;
                        found.insert(label.clone());
                    }
                }
                Some(LabelModifier::Exclude(_)) => {
                    return Err("`without` keeps labels that nobody named; write `by`".into());
                }
                None => {}
            }
        }
        Expr::Binary(binary) => {
            let (left, right) = (of(&binary.lhs, exported)?, of(&binary.rhs, exported)?);
            let modifier = binary.modifier.as_ref();
            if let Some(LabelModifier::Include(on)) = modifier.and_then(|m| m.matching.as_ref()) {
                for label in &on.labels {
                    need(label, &left)?;
                    need(label, &right)?;
                }
            }
            let number = matches!(*binary.lhs, Expr::NumberLiteral(_));
            found = if number { right } else { left };
        }
        Expr::Call(call) => {
            for argument in &call.args.args {
                found.extend(of(argument, exported)?);
            }
            if call.func.name == "histogram_quantile" {
                need("le", &found)?;
                found.remove("le");
            }
        }
        Expr::Paren(inside) => found = of(&inside.expr, exported)?,
        Expr::Subquery(inside) => found = of(&inside.expr, exported)?,
        Expr::Unary(inside) => found = of(&inside.expr, exported)?,
        Expr::VectorSelector(selector) => found = selected(selector, exported)?,
        Expr::MatrixSelector(matrix) => found = selected(&matrix.vs, exported)?,
        Expr::NumberLiteral(_) | Expr::StringLiteral(_) => {}
        Expr::Extension(_) => return Err("an extension".into()),
    }
    Ok(found)
}

fn selected(selector: &VectorSelector, exported: &Exported) -> Result<BTreeSet<String>, String> {
    let name = selector.name.as_ref().ok_or("a series without a name")?;
    let told = exported
        .labels(name)
        .ok_or(format!("nobody tells `{name}`"))?;
    for matcher in &selector.matchers.matchers {
        matched(matcher, &told).map_err(|mistake| format!("`{name}`: {mistake}"))?;
    }
    Ok(told.into_keys().collect())
}

/// What is looked for has to be there. What is left out need not: it is what users may have beside.
fn matched(matcher: &Matcher, told: &Labels) -> Result<(), String> {
    let label = &matcher.name;
    let values = told.get(label).ok_or(format!("no label `{label}`"))?;
    let wanted: Vec<&str> = match &matcher.op {
        MatchOp::Equal => vec![&matcher.value],
        MatchOp::Re(_) => matcher
            .value
            .split('|')
            .filter(|word| !word.contains('*'))
            .collect(),
        MatchOp::NotEqual | MatchOp::NotRe(_) => vec![],
    };
    let lacking = wanted.iter().find(|value| !values.contains(**value));
    match lacking {
        Some(value) if !values.is_empty() => Err(format!("`{label}` is never `{value}`")),
        _ => Ok(()),
    }
}

fn need(label: &str, labels: &BTreeSet<String>) -> Result<(), String> {
    if labels.contains(label) {
        Ok(())
    } else {
        Err(format!("no label `{label}` among {labels:?}"))
    }
}

#[test]
fn what_nobody_tells_is_found() {
    let mut exported = Exported::default();
    exported.add("told", ["rule"].into_iter());
    let mistake = |query| of(&parser::parse(query).unwrap(), &exported).unwrap_err();
    for (query, expected) in [
        ("rate(untold[5m])", "nobody tells `untold`"),
        ("told{policy=\"a\"}", "`told`: no label `policy`"),
        ("sum by (policy) (rate(told[5m]))", "no label `policy`"),
        ("told / on (policy) told", "no label `policy`"),
        ("{rule=\"a\"}", "a series without a name"),
        ("sum without (rule) (told)", "`without` keeps"),
    ] {
        assert!(
            mistake(query).starts_with(expected),
            "{query}: {}",
            mistake(query)
        );
    }
}
