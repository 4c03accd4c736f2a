//! The instance types of a cloud, with size and architecture where they are known.

use std::num::NonZeroU16;

/// The instance types of a cloud.
#[derive(Debug, PartialEq, Eq)]
pub struct InstanceTypes {
    /// The cloud, as messages call it, such as `AWS`.
    pub of: &'static str,
    /// The day on which the newest list of them was made, such as `2026-08-24`.
    pub date: &'static str,
    /// All of them, sorted by name.
    pub types: &'static [InstanceType],
    /// The families of the architecture amd64, sorted.
    pub amd64: &'static [&'static str],
    /// The families of the architecture arm64, sorted.
    pub arm64: &'static [&'static str],
    /// The smallest machine of each size, sorted by size.
    pub sizes: &'static [InstanceType],
}

/// An instance type, or all of one size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InstanceType {
    /// Its name, such as `m5.large`, or the size, such as `large`.
    pub name: &'static str,
    /// What it has; `None` if that is not known.
    pub machine: Option<Machine>,
}

/// What a machine has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Machine {
    /// Its virtual CPUs.
    pub cpus: NonZeroU16,
    /// Its memory in MiB.
    pub mib: u32,
}

impl Machine {
    /// What both have at least.
    pub(crate) fn least(self, other: Self) -> Self {
        Self {
            cpus: self.cpus.min(other.cpus),
            mib: self.mib.min(other.mib),
        }
    }
}

impl InstanceTypes {
    /// The machine of an instance type; `None` if it is not known.
    pub(crate) fn machine(&self, name: &str) -> Option<Machine> {
        find(self.types, name)
    }

    /// What the machines of a size have at least; `None` if that is not known.
    pub(crate) fn smallest_of_size(&self, size: &str) -> Option<Machine> {
        find(self.sizes, size)
    }

    /// The instance types of a family.
    pub(crate) fn of_family(&self, family: &str) -> impl Iterator<Item = &'static InstanceType> {
        let before = |one: &InstanceType| {
            let (name, family) = (one.name.as_bytes(), family.as_bytes());
            let head = name.get(..family.len()).unwrap_or(name);
            head < family || head == family && name.get(family.len()).is_none_or(|next| *next < b'.')
        };
        let from = self.types.partition_point(before);
        let rest = self.types.get(from..).unwrap_or_default();
        rest.iter().take_while(move |one| {
            let rest = one.name.strip_prefix(family);
            rest.is_some_and(|rest| rest.starts_with('.'))
        })
    }

    /// The architecture of a family, as the label of Kubernetes has it; `None` if it is not known.
    pub(crate) fn arch_of(&self, family: &str) -> Option<&'static str> {
        let is_in = |families: &[&str]| families.binary_search(&family).is_ok();
        if is_in(self.amd64) {
            Some("amd64")
        } else {
            is_in(self.arm64).then_some("arm64")
        }
    }

    /// Whether any of them has this number of CPUs.
    pub(crate) fn has_cpus(&self, number: i64) -> bool {
        let mut machines = self.types.iter().filter_map(|one| one.machine);
        machines.any(|machine| i64::from(machine.cpus.get()) == number)
    }
}

fn find(sorted: &[InstanceType], name: &str) -> Option<Machine> {
    let at = sorted.binary_search_by(|one| one.name.cmp(name)).ok()?;
    sorted.get(at)?.machine
}

/// A row of the table: 0 CPUs if they are not known.
pub(super) const fn machine(name: &'static str, cpus: u16, mib: u32) -> InstanceType {
    let machine = match NonZeroU16::new(cpus) {
        Some(cpus) => Some(Machine { cpus, mib }),
        None => None,
    };
    InstanceType { name, machine }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::Provider;

    fn aws() -> &'static InstanceTypes {
        let provider = Provider::of_group("karpenter.k8s.aws").expect("has data");
        provider.instance_types.expect("has a list")
    }

    fn of(machine: Option<Machine>) -> Option<(u16, u32)> {
        machine.map(|machine| (machine.cpus.get(), machine.mib))
    }

    #[test]
    fn a_type_is_found_by_its_name_and_what_is_not_listed_has_no_machine() {
        assert_eq!(of(aws().machine("m5.large")), Some((2, 8192)));
        assert_eq!(of(aws().machine("u7in-32tb.224xlarge")), Some((896, 33_554_432)));
        for name in ["m5", "m5.giant", "mac1.metal", ""] {
            assert_eq!(aws().machine(name), None, "{name}");
        }
        assert_eq!(of(aws().smallest_of_size("large")), Some((2, 3840)));
        assert_eq!(aws().smallest_of_size("giant"), None);
    }

    #[test]
    fn a_family_has_the_types_that_begin_with_its_name_and_a_dot() {
        let mut listed = 0;
        for one in aws().types {
            let (family, _) = one.name.split_once('.').expect("a family");
            assert!(aws().of_family(family).any(|other| other == one), "{}", one.name);
            listed += 1;
        }
        assert!(listed > 1400, "{listed}");
        let names = |family| aws().of_family(family).map(|one| one.name).collect::<Vec<_>>();
        assert_eq!(names("c7g-flex").len(), 6);
        assert!(names("c7g").iter().all(|name| name.starts_with("c7g.")));
        assert_eq!(names("p6"), [""; 0]);
        assert_eq!(names(""), [""; 0]);
    }

    #[test]
    fn the_architecture_of_a_family_is_data_and_not_read_from_its_letters() {
        for (family, arch) in [
            ("m5", Some("amd64")),
            ("g4dn", Some("amd64")),
            ("g4ad", Some("amd64")),
            ("g5g", Some("arm64")),
            ("a1", Some("arm64")),
            ("p6e-gb200", Some("arm64")),
            ("mac2", None),
            ("p3", None),
            ("x9", None),
        ] {
            assert_eq!(aws().arch_of(family), arch, "{family}");
        }
        assert_eq!((aws().amd64.len(), aws().arm64.len()), (136, 42));
    }
}
