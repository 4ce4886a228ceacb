//! Warnings about visibility probes.

use super::StageRecord;
use super::warning::{Code, Warning};
use crate::measure::VisibleBy;

/// Adds the warnings about a stage's probes.
pub(super) fn of_stage(stage: &StageRecord, warnings: &mut Vec<Warning>) {
    let Some(found) = &stage.visibility else { return };
    let mut warn = |code, message| {
        warnings.push(Warning { code, stage: Some(stage.name.clone()), message });
    };
    let because = |reason: &Option<String>| {
        reason.as_ref().map_or_else(String::new, |reason| format!(": {reason}"))
    };
    for by in &found.by {
        let VisibleBy { way, node, probes, unseen, reason, .. } = by;
        let node = node.as_ref().map_or_else(String::new, |node| format!(" at {node}"));
        if *probes == 0 && found.written > 0 {
            let message = format!("nothing was looked for by {way}{node}{}", because(reason));
            warn(Code::ProbesFailed, message);
        } else if *unseen > 0 {
            let message = format!(
                "{unseen} of {probes} acknowledged probes were never seen by {way}{node}; each was \
                 looked for for ten seconds, or one after the end"
            );
            warn(Code::NotVisible, message);
        }
    }
    if found.written == 0 {
        let message = format!("no probe was acknowledged{}", because(&found.reason));
        warn(Code::ProbesFailed, message);
    }
    if found.left > 0 {
        let (left, why) = (found.left, because(&found.reason));
        let message = format!("{left} documents of probes could not be removed{why}");
        warn(Code::NotRemoved, message);
    }
}
