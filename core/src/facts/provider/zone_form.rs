//! How providers write zones and regions.

/// How a provider writes its zones and regions, by which one can tell them apart. The provider's data says where that was
/// read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ZoneForm {
    /// Zone `us-east-1a` of region `us-east-1`; also `us-west-2-lax-1a` and `us-east-1-wl1-bos-wlz-1`.
    Aws,
    /// Zone `eastus2-1` of region `eastus2`; machines without a zone have `0` or nothing.
    Azure,
    /// Zone `us-central1-a` of region `us-central1`; also `us-central1-ai1a`.
    Google,
}

impl ZoneForm {
    /// The region of a zone; `None` if the text is not written as a zone.
    pub(crate) fn region_of(self, zone: &str) -> Option<&str> {
        let (region, is_zone) = match self {
            Self::Aws => {
                let (hyphen, _) = zone
                    .match_indices('-')
                    .find(|(hyphen, _)| zone.as_bytes().get(hyphen + 1).is_some_and(u8::is_ascii_digit))?;
                let digits = zone.get(hyphen + 1..)?.find(|c: char| !c.is_ascii_digit())?;
                let (region, rest) = zone.split_at_checked(hyphen + 1 + digits)?;
                let is_letter = rest.len() == 1 && rest.bytes().all(|byte| byte.is_ascii_lowercase());
                (region, is_letter || rest.starts_with('-'))
            }
            Self::Azure => {
                let (region, number) = zone.rsplit_once('-')?;
                (region, are_digits(number))
            }
            Self::Google => {
                let (region, rest) = zone.rsplit_once('-')?;
                (region, !rest.is_empty())
            }
        };
        (is_zone && self.is_region(region)).then_some(region)
    }

    /// The value of that label for the machines of a zone (`PlacementScopeForZone` of `pkg/utils/zones/zones.go`).
    pub(crate) fn placement_of(zone: &str) -> &'static str {
        if ["", "0"].contains(&zone) {
            "regional"
        } else {
            "zonal"
        }
    }

    /// Whether a text is written as a region.
    pub(crate) fn is_region(self, text: &str) -> bool {
        let is_word = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_lowercase());
        match self {
            Self::Aws => {
                let Some((area, number)) = text.rsplit_once('-') else {
                    return false;
                };
                let mut words = area.split('-');
                let is_area =
                    words.next().is_some_and(|country| country.len() == 2) && words.clone().count() > 0;
                let is_number = number.len() <= 2 && are_digits(number);
                is_number && is_area && words.all(|word| word.len() > 2 && is_word(word))
            }
            Self::Azure => {
                text.starts_with(|first: char| first.is_ascii_alphabetic())
                    && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
            }
            Self::Google => text.split_once('-').is_some_and(|(continent, rest)| {
                let place = rest.trim_end_matches(|c: char| c.is_ascii_digit());
                is_word(continent) && is_word(place) && place.len() < rest.len()
            }),
        }
    }

    /// Whether a text is the id of a zone, such as `use1-az1`: a name of AWS that is the same in all accounts.
    pub(crate) fn is_zone_id(self, text: &str) -> bool {
        let last = text.rsplit_once('-').map(|(_, last)| last);
        let number = last.and_then(|last| last.strip_prefix("az").or_else(|| last.strip_prefix("wlz")));
        self == Self::Aws && number.is_some_and(are_digits)
    }
}

/// Whether a text is a number without a sign.
fn are_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::ZoneForm::{Aws, Azure, Google};

    #[test]
    fn a_zone_begins_with_its_region() {
        for (form, zone, region) in [
            (Aws, "us-east-1a", "us-east-1"),
            (Aws, "us-gov-west-1b", "us-gov-west-1"),
            (Aws, "ap-southeast-12c", "ap-southeast-12"),
            (Aws, "us-west-2-lax-1a", "us-west-2"),
            (Aws, "us-east-1-wl1-bos-wlz-1", "us-east-1"),
            (Azure, "eastus2-1", "eastus2"),
            (Azure, "canadacentral-3", "canadacentral"),
            (Google, "us-central1-a", "us-central1"),
            (Google, "europe-west12-c", "europe-west12"),
            (Google, "us-central1-ai1a", "us-central1"),
        ] {
            assert_eq!(form.region_of(zone), Some(region), "{zone}");
            assert!(form.is_region(region), "{region}");
            assert!(!form.is_region(zone), "{zone}");
        }
    }

    #[test]
    fn what_is_not_written_as_a_zone_has_no_region() {
        for (form, text) in [
            (Aws, "us-east-1"),
            (Aws, "use1-az1"),
            (Aws, "usw2-lax1-az1"),
            (Aws, "use1-wl1-bos-wlz1"),
            (Aws, "test-zone-1a"),
            (Aws, "us-central1-a"),
            (Aws, "us-east-1ab"),
            (Aws, "us-east-1é"),
            (Aws, "us-east-"),
            (Aws, ""),
            (Azure, "1"),
            (Azure, "0"),
            (Azure, ""),
            (Azure, "-1"),
            (Azure, "eastus2"),
            (Azure, "us-east-1a"),
            (Google, "us-central1"),
            (Google, "us-central1-"),
            (Google, "us-east-1a"),
            (Google, "test-zone-a"),
        ] {
            assert_eq!(form.region_of(text), None, "{text}");
        }
    }

    #[test]
    fn regions_are_told_from_zones_and_ids() {
        for region in ["us-east-1", "us-gov-west-1", "ap-southeast-12", "eu-isoe-west-1"] {
            assert!(Aws.is_region(region), "{region}");
        }
        for other in ["us-east-1a", "use1-az1", "zone-1", "us-1", "us-east-", ""] {
            assert!(!Aws.is_region(other), "{other}");
        }
        for id in ["use1-az1", "usw2-lax1-az1", "use1-wl1-bos-wlz1"] {
            assert!(Aws.is_zone_id(id), "{id}");
            assert!(!Azure.is_zone_id(id), "{id}");
        }
        for other in ["us-east-1a", "us-east-1-wl1-bos-wlz-1", "my-az", "az1"] {
            assert!(!Aws.is_zone_id(other), "{other}");
        }
    }
}
