//! `--unhold-all`: every mark of poolgate's is taken back, whatever a pool says.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Node;
use kube::Api;
use kube::api::ListParams;
use poolgate_core::nodelimit::plan::{Marks, NodeRef, Unhold};

use super::apply::{Marker, WriteError, Writer};

/// How many nodes a page brings.
const PAGE: u32 = 500;

/// Takes back every mark. How many nodes had one.
pub(super) async fn unhold_all(writer: &Writer, nodes: &Api<Node>) -> Result<usize, WriteError> {
    let mut params = ListParams::default().limit(PAGE);
    let mut count = 0;
    loop {
        let page = writer.call(nodes.list_metadata(&params)).await?;
        let marked: Vec<Unhold> = page
            .items
            .into_iter()
            .filter_map(|node| {
                let of = |map: Option<BTreeMap<String, String>>| map.unwrap_or_default();
                let (labels, annotations) = (of(node.metadata.labels), of(node.metadata.annotations));
                let marks = Marks::of(
                    |key| labels.get(key).map(String::as_str),
                    |key| annotations.get(key).map(String::as_str),
                );
                (marks.held_label || marks.held_annotation).then_some(())?;
                let node = NodeRef {
                    name: node.metadata.name?.into(),
                    uid: node.metadata.uid?.into(),
                };
                Some(Unhold {
                    node,
                    hand_over: marks.keep && marks.do_not_disrupt,
                })
            })
            .collect();
        count += marked.len();
        Marker::default().unhold(writer, &marked).await?;
        params.continue_token = page.metadata.continue_.filter(|token| !token.is_empty());
        if params.continue_token.is_none() {
            return Ok(count);
        }
    }
}
