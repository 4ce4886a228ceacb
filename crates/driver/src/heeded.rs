//! Refuses settings that a driver does not support, for all drivers, instead of silently ignoring
//! them.

use crate::mistake::Invalid;
use crate::{Auth, Card, Setting, TargetAsked};

impl Setting {
    /// The flag that set it; `None` if it is not set.
    fn flag(self, asked: &TargetAsked) -> Option<&'static str> {
        let tls = &asked.tls;
        let (is_asked, flag) = match self {
            Self::Nodes => (!asked.nodes.is_empty(), asked.flag),
            Self::Pin => (asked.pin, "--pin"),
            Self::Headers => (!asked.headers.is_empty(), "--header"),
            Self::Auth => (asked.auth != Auth::default(), asked.auth_flag),
            Self::Certificates => (tls.insecure || tls.authorities.is_some(), tls.flag()),
            Self::ClientCertificate => (tls.identity.is_some(), "--tls-cert"),
            Self::Databases => (asked.options.contains_key("databases"), "--databases"),
            Self::Compaction => (asked.options.contains_key("compaction"), "--compaction"),
        };
        is_asked.then_some(flag)
    }
}

/// Refuses settings that the driver does not support.
///
/// # Errors
/// Fails for the first such setting.
pub(super) fn check(asked: &TargetAsked, card: Option<&Card>) -> Result<(), Invalid> {
    let Some(card) = card else { return Ok(()) };
    let refused = |setting: &Setting| {
        let flag = setting.flag(asked).filter(|_| !card.heeds.contains(setting))?;
        let problem = format!("{} with the driver {}", setting.problem(), card.name);
        Some(Invalid::new(flag, problem, setting.cure()))
    };
    Setting::ALL.iter().find_map(refused).map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CARDS;
    use crate::net::{Identity, TlsOptions};

    /// A request with no setting but this one.
    fn asking(setting: Setting) -> TargetAsked {
        let mut asked = TargetAsked { auth_flag: "--auth", ..TargetAsked::at("x") };
        match setting {
            Setting::Nodes => asked.nodes.push("y".to_owned()),
            Setting::Pin => asked.pin = true,
            Setting::Headers => asked.headers.push("X: y".to_owned()),
            Setting::Auth => asked.auth = Auth::Basic,
            Setting::Certificates => asked.tls = TlsOptions { insecure: true, ..asked.tls },
            Setting::ClientCertificate => {
                let (certificate, key) = ("c.pem".into(), "k.pem".into());
                asked.tls.identity = Some(Identity { certificate, key });
            }
            Setting::Databases => {
                asked.options.insert("databases".to_owned(), 3.into());
            }
            Setting::Compaction => {
                asked.options.insert("compaction".to_owned(), "off".into());
            }
        }
        asked
    }

    #[test]
    fn every_driver_heeds_a_setting_or_refuses_it_by_its_flag() {
        for card in CARDS {
            assert_eq!(check(&TargetAsked::at("x"), Some(card)), Ok(()), "{}", card.name);
            for setting in Setting::ALL {
                let checked = check(&asking(setting), Some(card));
                assert_eq!(checked.is_ok(), card.heeds.contains(&setting), "{}", card.name);
                let Err(refused) = checked else { continue };
                let (refused, flag) = (refused.to_string(), setting.flag(&asking(setting)));
                let named = refused.starts_with(&format!("{}: ", flag.unwrap()));
                assert!(named && refused.contains(card.name), "{refused}");
            }
        }
    }
}
