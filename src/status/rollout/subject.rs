//! What is asked about: `nodepool/NAME`, or the kind and name of a node class.

use std::str::FromStr;

/// A NodePool, or all that use a node class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    Pool(String),
    /// The kind in lower case, and the name.
    Class(String, String),
}

impl FromStr for Subject {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (kind, name) = text.split_once('/').filter(|(_, name)| !name.is_empty()).ok_or(
            "write nodepool/NAME, or the kind of a node class and its name, such as ec2nodeclass/NAME",
        )?;
        let kind = kind.to_ascii_lowercase();
        match kind.as_str() {
            "nodepool" | "nodepools" => Ok(Self::Pool(name.to_owned())),
            _ if kind.ends_with("nodeclass") => Ok(Self::Class(kind, name.to_owned())),
            _ => Err("the kind must be nodepool, or that of a node class, such as ec2nodeclass"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_is_written_as_for_kubectl() {
        let class = |kind: &str| Subject::Class(kind.to_owned(), "default".to_owned());
        assert_eq!("nodepool/a".parse(), Ok(Subject::Pool("a".to_owned())));
        assert_eq!("NodePools/a".parse(), Ok(Subject::Pool("a".to_owned())));
        assert_eq!("EC2NodeClass/default".parse(), Ok(class("ec2nodeclass")));
        assert_eq!("aksnodeclass/default".parse(), Ok(class("aksnodeclass")));
        assert_eq!("nodeclass/default".parse(), Ok(class("nodeclass")));
        for wrong in ["general", "nodepool/", "deployment/a", ""] {
            assert!(wrong.parse::<Subject>().is_err(), "{wrong}");
        }
    }
}
