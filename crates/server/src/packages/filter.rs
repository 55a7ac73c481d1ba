// SPDX-License-Identifier: Apache-2.0
//! A manifest's filter as one that intents are held against.

use apk::DataPattern;
use intent::{Authority, Filter, Pattern, PatternKind};

/// The filter of a manifest.
///
/// # Errors
///
/// What of it is not supported, or is no pattern or type.
pub fn filter(of: &apk::IntentFilter) -> Result<Filter, String> {
    let mut filter = Filter::new(of.priority);
    filter.actions.clone_from(&of.actions);
    filter.categories.clone_from(&of.categories);
    for data in &of.data {
        if let Some(group) = &data.mime_group {
            return Err(format!("groups of MIME types are not supported: {group:?}"));
        }
        filter.schemes.extend(data.scheme.clone());
        if let Some(host) = &data.host {
            let port = data.port.as_ref().and_then(|it| it.parse().ok());
            filter.authorities.push(Authority::new(host, port));
        }
        filter.paths.extend(patterns(paths(data))?);
        let parts = scheme_specific_parts(data);
        filter.scheme_specific_parts.extend(patterns(parts)?);
        if let Some(kind) = &data.mime_type {
            filter.add_type(kind).map_err(|it| it.to_string())?;
        }
    }
    Ok(filter)
}

type Texts<'a> = [(PatternKind, &'a Option<String>); 5];

fn paths(of: &DataPattern) -> Texts<'_> {
    [
        (PatternKind::Literal, &of.path),
        (PatternKind::Prefix, &of.path_prefix),
        (PatternKind::SimpleGlob, &of.path_pattern),
        (PatternKind::AdvancedGlob, &of.path_advanced_pattern),
        (PatternKind::Suffix, &of.path_suffix),
    ]
}

fn scheme_specific_parts(of: &DataPattern) -> Texts<'_> {
    [
        (PatternKind::Literal, &of.ssp),
        (PatternKind::Prefix, &of.ssp_prefix),
        (PatternKind::SimpleGlob, &of.ssp_pattern),
        (PatternKind::AdvancedGlob, &of.ssp_advanced_pattern),
        (PatternKind::Suffix, &of.ssp_suffix),
    ]
}

fn patterns(of: Texts<'_>) -> Result<Vec<Pattern>, String> {
    let given = of
        .into_iter()
        .filter_map(|(kind, text)| Some((kind, text.as_ref()?)));
    given
        .map(|(kind, text)| {
            Pattern::new(kind, text).ok_or_else(|| format!("{text:?} is no advanced pattern"))
        })
        .collect()
}
