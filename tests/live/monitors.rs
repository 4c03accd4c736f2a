//! What a Prometheus operator is configured to scrape.

use serde_json::Value;

use crate::support::chart::{DEPLOYMENTS, SERVICE_MONITOR, charted, container, template};

/// Whether all labels of a selector are among those of an object.
#[track_caller]
fn expect_selected(selector: &Value, labels: &Value) {
    let wanted = selector.as_object().expect("a selector");
    assert!(!wanted.is_empty());
    for (label, value) in wanted {
        assert_eq!(&labels[label], value, "{label}");
    }
}

#[test]
fn a_monitor_finds_the_probe_port_of_every_pod() {
    let all = ["--set=profile=gate"];
    let objects = charted(&[&all[..], &[SERVICE_MONITOR]].concat());

    let service = &objects["Service poolgate-system poolgate-metrics"];
    let monitor = &objects["ServiceMonitor poolgate-system poolgate"]["spec"];
    expect_selected(
        &monitor["selector"]["matchLabels"],
        &service["metadata"]["labels"],
    );
    assert_eq!(
        monitor["endpoints"][0]["port"],
        service["spec"]["ports"][0]["name"]
    );
    let pods = charted(&[&all[..], &["--set=monitoring.podMonitor.enabled=true"]].concat());
    let pods = &pods["PodMonitor poolgate-system poolgate"]["spec"];
    assert_eq!(
        pods["podMetricsEndpoints"][0]["port"],
        service["spec"]["ports"][0]["targetPort"]
    );
    for deployment in DEPLOYMENTS {
        let labels = &objects[&format!("Deployment poolgate-system {deployment}")]["spec"]["template"]["metadata"]
            ["labels"];
        expect_selected(&service["spec"]["selector"], labels);
        expect_selected(&pods["selector"]["matchLabels"], labels);
        let ports = container(&objects, deployment)["ports"]
            .as_array()
            .expect("ports");
        assert!(
            ports
                .iter()
                .any(|port| port["name"] == service["spec"]["ports"][0]["targetPort"])
        );
    }
    let both = template(&[SERVICE_MONITOR, "--set=monitoring.podMonitor.enabled=true"]);
    assert!(both.stderr.contains("everything would count twice"), "{both:?}");
}
