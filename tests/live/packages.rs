//! The Helm chart is the one source of what is shipped. `packaging/manifests` renders it for kubectl and kustomize.

use std::fs;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use poolgate_core::manifest::{Limits, parse};
use serde_json::{Value, json};

use crate::support::chart::{
    CHART, DEPLOYMENTS, charted, container, lint, pod, template, template_undecided,
};
use crate::support::files::directory;
use crate::support::readme::block_of;
use crate::support::rendered::{OPEN, Objects, objects, render, rendered};
use crate::support::shell::{shell, workplace};

const INSTALL: &str = include_str!("../../docs/install.md");
const PACKAGING: &str = include_str!("../../packaging/README.md");

/// What asks for all that is beside the profiles, but for certificates.
const BESIDE: [&str; 6] = [
    "--set=deletion.enabled=true",
    "--set=networkPolicy.enabled=true",
    "--set=networkPolicy.from[0].ipBlock.cidr=where-the-api-servers-are",
    "--set=monitoring.podMonitor.enabled=true",
    "--set=monitoring.prometheusRule.enabled=true",
    "--set=monitoring.dashboard.enabled=true",
];

/// The labels that only Helm sets.
const OF_HELM: [&str; 2] = ["app.kubernetes.io/managed-by", "helm.sh/chart"];

/// Objects without those, and without the namespace, which Helm creates itself.
fn without_helm(mut objects: Objects) -> Objects {
    objects.remove("Namespace  poolgate-system");
    for object in objects.values_mut() {
        let labels = object["metadata"]["labels"].as_object_mut().expect("labels");
        labels.retain(|label, _| !OF_HELM.contains(&label.as_str()));
    }
    objects
}

#[test]
fn a_rendered_profile_is_what_helm_installs_and_has_no_hook() {
    let strict = "--set=gateStrict.pools={licensed,gpu}";
    for profile in ["observe", "enforce", "gate", "gate-strict"] {
        let file = rendered(profile, &[strict]);
        assert!(!file.contains("helm.sh/"), "{profile}: {file}");
        let of_helm = charted(&[&format!("--set=profile={profile}"), strict]);
        let shipped = objects(&file);
        assert!(shipped.contains_key("Namespace  poolgate-system"), "{profile}");
        assert_eq!(without_helm(shipped), without_helm(of_helm), "{profile}");
        let (first, _) = file.split_once("\n---\n").expect("a comment");
        let is_open = first.contains("Every pod may call the gate");
        assert_eq!(is_open, profile.starts_with("gate"), "{first}");
        // What others need comes first.
        let kinds: Vec<_> = file
            .lines()
            .filter_map(|line| line.strip_prefix("kind: "))
            .collect();
        let at = |kind: &str| kinds.iter().position(|found| *found == kind).expect(kind);
        assert!(
            at("Namespace") == 0 && at("ServiceAccount") < at("Deployment"),
            "{kinds:?}"
        );
        assert!(
            at("Deployment") < at("ValidatingWebhookConfiguration"),
            "{kinds:?}"
        );
    }
    let closed = "--set=networkPolicy.enabled=true,networkPolicy.from[0].ipBlock.cidr=10.0.0.0/28";
    let (first, _) = rendered("gate", &[closed])
        .split_once("\n---\n")
        .map(|(first, rest)| (first.to_owned(), rest.len()))
        .expect("a comment");
    assert!(!first.contains("Every pod"), "{first}");
}

#[test]
fn the_files_of_a_release_are_rendered_as_the_page_says() {
    let clone = workplace();
    shell(clone.path(), None, block_of(PACKAGING, "sh", "for profile in ")).success();
    for profile in ["observe", "enforce", "gate"] {
        let file = fs::read_to_string(clone.path().join(format!("poolgate-{profile}.yaml")));
        let objects = objects(&file.expect("a file"));
        assert!(
            container(&objects, "poolgate")["image"]
                .as_str()
                .is_some_and(|image| image.starts_with("registry.example.com/platform/poolgate:")),
            "{profile}"
        );
    }
}

#[test]
fn a_rendered_profile_takes_a_namespace_and_a_file_of_values_and_nothing_unknown() {
    let files = directory(&[(
        "values.yaml",
        "networkPolicy: {enabled: false}\nlogFormat: text\n",
    )]);
    let values = files.path().join("values.yaml");
    let values = ["--values", values.to_str().expect("a path")];
    let file = render(&[&["gate", "--namespace", "platform"], &values[..]].concat()).success();
    assert!(
        file.contains("--log-format=text") && !file.contains("poolgate-system"),
        "{file}"
    );
    // The namespace has other objects, too.
    assert!(!objects(&file).contains_key("Namespace  platform"));
    assert!(
        file.contains("'system:serviceaccount:platform:poolgate-gate'"),
        "{file}"
    );
    for (arguments, said) in [
        (&["gate"][..], "networkPolicy.enabled=false"),
        (
            &["gate-strict", OPEN],
            "Profile gate-strict requires gateStrict.pools",
        ),
        (&["none"], "packaging/manifests PROFILE"),
        (&[], "packaging/manifests PROFILE"),
        (&["observe", "--set=replica=3"], "'replica' not allowed"),
    ] {
        let denied = render(arguments);
        assert!(
            !denied.status.success() && denied.stderr.contains(said),
            "{denied:?}"
        );
    }
}

/// A kustomization of `docs/install.md`, by the field that it has.
fn kustomization(field: &str) -> &'static str {
    let blocks = INSTALL.split("```yaml\n# kustomization.yaml\n").skip(1);
    let mut blocks = blocks.map(|block| block.split("```").next().unwrap_or_default());
    blocks
        .find(|block| block.contains(&format!("\n{field}:")) || block.starts_with(&format!("{field}:")))
        .unwrap_or_else(|| panic!("no kustomization with {field}"))
}

#[test]
fn kustomize_builds_both_ways_of_the_page_without_a_hook() {
    let clone = workplace();
    let run = |lines: &str| shell(clone.path(), None, lines).success();
    let own = clone.path().join("own");
    fs::create_dir(&own).expect("a directory");
    let write = |field: &str| {
        fs::write(own.join("kustomization.yaml"), kustomization(field)).expect("a kustomization");
    };
    run("packaging/manifests observe >own/poolgate.yaml");
    write("resources");
    let listed = objects(&run("kubectl kustomize own"));
    assert_eq!(listed, objects(&rendered("observe", &[])));

    run("mkdir own/charts && cp -R manifests/helm own/charts/poolgate");
    write("helmCharts");
    let charts = run("kubectl kustomize --enable-helm own");
    assert!(!charts.contains("helm.sh/hook"), "{charts}");
    let repository = "--set=image.repository=registry.example.com/platform/poolgate";
    let expected = charted(&["--set=profile=observe,createNamespace=true", repository]);
    assert_eq!(objects(&charts), expected);
}

/// The cluster roles of the reconciler, by the end of their names, and their verbs on `NodeClaims`.
fn verbs_on_claims(values: &[&str]) -> Vec<(String, Value)> {
    let mut found = Vec::new();
    for (name, object) in charted(values) {
        let Some(end) = name.strip_prefix("ClusterRole  poolgate-reconciler") else {
            continue;
        };
        let mut rules = object["rules"].as_array().expect("rules").iter();
        let rule = rules.find(|rule| rule["resources"] == json!(["nodeclaims"]));
        found.push((end.to_owned(), rule.expect("a rule")["verbs"].clone()));
    }
    found
}

#[test]
fn each_right_on_nodeclaims_is_one_value_and_one_role() {
    let reads = (String::new(), json!(["list", "watch"]));
    let repairs = ("-repair".to_owned(), json!(["delete", "patch"]));
    let terminates = ("-terminate".to_owned(), json!(["delete", "terminate"]));
    let (gate, without) = ("--set=profile=gate", "--set=reconciler.repair=false");
    let with = "--set=reconciler.terminate=true";
    for (values, expected) in [
        (&[gate][..], vec![&reads, &repairs]),
        (&[gate, without], vec![&reads]),
        (&[gate, with], vec![&reads, &repairs, &terminates]),
        (&[gate, without, with], vec![&reads, &terminates]),
    ] {
        let found = verbs_on_claims(values);
        assert_eq!(found.iter().collect::<Vec<_>>(), expected, "{values:?}");
    }
}

/// One command installs observe with certificates, and nothing installs `enforce` with a `caBundle` that stays empty.
#[test]
fn no_profile_that_denies_is_rendered_with_a_ca_bundle_that_nobody_fills() {
    assert!(charted(&[]).contains_key("Deployment poolgate-system poolgate-certificates"));
    let own = "--set=certificates.from=secret";
    for profile in ["enforce", "gate", "gate-strict"] {
        let profile = format!("--set=profile={profile}");
        let denied = template(&[own, &profile, "--set=gateStrict.pools={licensed}"]);
        for said in [
            "--set-file certificates.caBundle=ca.crt",
            "--set certificates.caBundleFrom=other",
        ] {
            assert!(denied.stderr.contains(said), "{denied:?}");
        }
    }
    let bundles = |values: &[&str]| -> Vec<Value> {
        let objects = charted(
            &[
                &["--set=profile=gate-strict", "--set=gateStrict.pools={licensed}"],
                values,
            ]
            .concat(),
        );
        let configurations = objects
            .iter()
            .filter(|(name, _)| name.contains("WebhookConfiguration"));
        configurations
            .flat_map(|(_, object)| object["webhooks"].as_array().expect("webhooks").clone())
            .map(|webhook| webhook["clientConfig"]["caBundle"].clone())
            .collect()
    };
    let authority = "-----BEGIN CERTIFICATE-----\nYQ==\n-----END CERTIFICATE-----\n";
    let files = directory(&[("ca.crt", authority)]);
    let given = format!(
        "--set-file=certificates.caBundle={}",
        files.path().join("ca.crt").display()
    );
    assert_eq!(
        bundles(&[own, &given]),
        vec![json!(STANDARD.encode(authority)); 4]
    );
    assert_eq!(
        bundles(&[own, "--set=certificates.caBundleFrom=other"]),
        vec![Value::Null; 4]
    );
    charted(&[own]);
    for (values, said) in [
        (
            &[own, "--set=certificates.caBundle=YQ=="][..],
            "is not a PEM certificate",
        ),
        (
            &[own, &given, "--set=certificates.caBundleFrom=other"],
            "Unset one of them",
        ),
        (&[&given], "require certificates.from=secret"),
    ] {
        let denied = template(values);
        assert!(denied.stderr.contains(said), "{denied:?}");
    }
}

#[test]
fn no_gate_is_rendered_until_its_callers_are_decided() {
    for profile in ["observe", "enforce"] {
        template_undecided(&[&format!("--set=profile={profile}")]).success();
    }
    for profile in ["gate", "gate-strict"] {
        let profile = [
            &*format!("--set=profile={profile}"),
            "--set=gateStrict.pools={licensed}",
        ];
        let denied = template_undecided(&profile);
        for said in [
            "EKS ",
            "AKS, GKE ",
            "Cilium ",
            "kubeadm ",
            "networkPolicy.enabled=false",
            "clientCertificates.caConfigMap",
        ] {
            assert!(denied.stderr.contains(said), "{denied:?}");
        }
        let policy = |values: &[&str]| {
            let objects = objects(&template_undecided(&[&profile[..], values].concat()).success());
            objects.get("NetworkPolicy poolgate-system poolgate").cloned()
        };
        let (address, pods) = (
            json!({"ipBlock": {"cidr": "10.0.0.0/28"}}),
            json!({
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}},
                "podSelector": {"matchLabels": {"app": "konnectivity-agent"}},
            }),
        );
        for from in [address, pods] {
            let peers = format!(
                "--set-json=networkPolicy={}",
                json!({"enabled": true, "from": [from]})
            );
            let policy = policy(&[&peers]).expect("a policy");
            assert_eq!(policy["spec"]["ingress"][0]["from"], json!([from]));
        }
        assert_eq!(policy(&["--set=networkPolicy.enabled=false"]), None);
        assert_eq!(policy(&["--set=clientCertificates.caConfigMap=clients"]), None);
    }
    let empty = template_undecided(&["--set=networkPolicy.enabled=true"]);
    assert!(empty.stderr.contains("which is empty"), "{empty:?}");
}

#[test]
fn only_clients_with_a_certificate_are_answered_where_that_is_asked_for() {
    let gate = [
        "--set=profile=gate",
        "--set=clientCertificates.caConfigMap=poolgate-client-ca",
    ];
    let names = charted(
        &[
            &gate[..],
            &["--set=clientCertificates.names={kube-apiserver,other}"],
        ]
        .concat(),
    );
    for deployment in ["poolgate", "poolgate-gate"] {
        let arguments = container(&names, deployment)["args"]
            .as_array()
            .expect("arguments");
        assert!(
            arguments.ends_with(&[
                json!("--client-ca=/etc/poolgate/client-ca/ca.crt"),
                json!("--client-name=kube-apiserver"),
                json!("--client-name=other")
            ]),
            "{deployment}: {arguments:?}"
        );
        let mounts = container(&names, deployment)["volumeMounts"]
            .as_array()
            .expect("mounts");
        assert!(
            mounts
                .iter()
                .any(|mount| mount["mountPath"] == "/etc/poolgate/client-ca")
        );
        let volumes = pod(&names, deployment)["volumes"].as_array().expect("volumes");
        let is_the_ca = |volume: &Value| volume["configMap"]["name"] == "poolgate-client-ca";
        assert!(volumes.iter().any(is_the_ca), "{deployment}: {volumes:?}");
    }
    let nameless = template(&["--set=clientCertificates.names={kube-apiserver}"]);
    assert!(
        nameless.stderr.contains("Set clientCertificates.caConfigMap"),
        "{nameless:?}"
    );
}

/// Who goes back from gate takes the reconciler out, and what it leaves behind is cleaned up by what stays.
#[test]
fn what_cleans_up_after_a_reconciler_is_part_of_every_profile() {
    let parts = |objects: &Objects| -> Objects {
        let mut objects = objects.clone();
        objects.retain(|name, _| name.ends_with(" poolgate-unhold") || name == "Namespace  poolgate-ledgers");
        objects
    };
    let gate = parts(&charted(&["--set=profile=gate"]));
    assert_eq!(
        gate.keys().collect::<Vec<_>>(),
        [
            "ClusterRole  poolgate-unhold",
            "ClusterRoleBinding  poolgate-unhold",
            "CronJob poolgate-system poolgate-unhold",
            "Namespace  poolgate-ledgers",
            "Role poolgate-ledgers poolgate-unhold",
            "RoleBinding poolgate-ledgers poolgate-unhold",
            "ServiceAccount poolgate-system poolgate-unhold",
            "ValidatingAdmissionPolicy  poolgate-unhold",
            "ValidatingAdmissionPolicyBinding  poolgate-unhold",
        ]
    );
    for profile in ["gate", "enforce", "observe"] {
        let charted = charted(&[&format!("--set=profile={profile}")]);
        assert_eq!(parts(&charted), gate, "{profile}");
        let reconciler = charted.contains_key("Deployment poolgate-system poolgate-reconciler");
        assert_eq!(reconciler, profile == "gate");
    }
    let without = ["--set=unhold.enabled=false"];
    assert_eq!(parts(&charted(&without)), Objects::new());
    // The gate needs the namespace.
    let gate = parts(&charted(&[without[0], "--set=profile=gate"]));
    assert_eq!(gate.keys().collect::<Vec<_>>(), ["Namespace  poolgate-ledgers"]);
}

#[test]
fn no_pool_is_strict_unless_it_is_named() {
    let denied = template(&["--set=profile=gate-strict"]);
    assert!(
        denied
            .stderr
            .contains("Set gateStrict.pools to the pools whose limit matters more"),
        "{denied:?}"
    );
}

/// The webhooks of a profile by the name of their configuration: failure policy and path.
fn webhooks(objects: &Objects) -> Vec<(String, String)> {
    let configurations = objects
        .iter()
        .filter(|(name, _)| name.contains("WebhookConfiguration"));
    configurations
        .map(|(name, object)| {
            let words = object["webhooks"]
                .as_array()
                .expect("webhooks")
                .iter()
                .flat_map(|webhook| {
                    [
                        &webhook["failurePolicy"],
                        &webhook["clientConfig"]["service"]["path"],
                    ]
                });
            let words: Vec<_> = words.map(|word| word.as_str().expect("a word")).collect();
            (name.clone(), words.join(" "))
        })
        .collect()
}

#[test]
fn observe_blocks_nothing_and_each_step_adds_to_the_one_before() {
    let strict = ["--set=profile=gate-strict", "--set=gateStrict.pools={licensed}"];
    let mutate = ("MutatingWebhookConfiguration  poolgate", "Ignore /mutate");
    let validate = "ValidatingWebhookConfiguration  poolgate";
    // Always both: who applies one webhook less cannot drop it beside its caBundle.
    let gate = (
        "ValidatingWebhookConfiguration  poolgate-gate",
        "Ignore /gate Fail /gate/strict",
    );
    let deletion = (
        "ValidatingWebhookConfiguration  poolgate-deletion",
        "Ignore /validate/delete",
    );
    for (values, expected) in [
        (&[][..], &[mutate, (validate, "Ignore /validate")][..]),
        (
            &["--set=profile=enforce"],
            &[mutate, (validate, "Fail /validate")],
        ),
        (
            &["--set=profile=gate"],
            &[mutate, (validate, "Fail /validate"), gate],
        ),
        (&strict, &[mutate, (validate, "Fail /validate"), gate]),
        (
            &["--set=gate.enabled=true"],
            &[mutate, (validate, "Ignore /validate"), gate],
        ),
        (
            &["--set=deletion.enabled=true"],
            &[mutate, (validate, "Ignore /validate"), deletion],
        ),
    ] {
        let objects = charted(values);
        let expected: Vec<_> = expected
            .iter()
            .map(|&(name, words)| (name.to_owned(), words.to_owned()))
            .collect();
        assert_eq!(webhooks(&objects), expected);
        let policy = objects["ConfigMap poolgate-system poolgate-policy"]["data"]["policy.yaml"].as_str();
        let warns = policy.expect("a policy").contains("enforcement: warn");
        let is_of_a_profile = values.iter().any(|value| value.starts_with("--set=profile="));
        assert_eq!(warns, !is_of_a_profile, "{policy:?}");
    }
    let objects = charted(&["--set=gate.enabled=true", "--set=reconciler.enabled=true"]);
    for (deployment, flag) in [
        ("poolgate-gate", "--observe"),
        ("poolgate-reconciler", "--observe"),
    ] {
        let arguments = &container(&objects, deployment)["args"];
        assert_eq!(
            arguments.as_array().and_then(|all| all.last()),
            Some(&json!(flag))
        );
    }
}

#[test]
fn every_object_says_what_it_belongs_to_and_is_selected_by_what_never_changes() {
    let all = [
        "--set=profile=gate-strict",
        "--set=gateStrict.pools={licensed}",
        "--set=commonLabels.team=platform",
    ];
    for from in ["cert-manager", "poolgate"] {
        let from = format!("--set=certificates.from={from}");
        for (name, object) in objects(&template(&[&all[..], &BESIDE, &[&from]].concat()).success()) {
            let labels = &object["metadata"]["labels"];
            for (label, value) in [
                ("app.kubernetes.io/name", "poolgate"),
                ("app.kubernetes.io/instance", "poolgate"),
                ("app.kubernetes.io/part-of", "poolgate"),
                ("app.kubernetes.io/version", env!("CARGO_PKG_VERSION")),
                ("app.kubernetes.io/managed-by", "Helm"),
                ("helm.sh/chart", concat!("poolgate-", env!("CARGO_PKG_VERSION"))),
                ("team", "platform"),
            ] {
                assert_eq!(labels[label], value, "{name}: {label}");
            }
            assert!(labels["app.kubernetes.io/component"].is_string(), "{name}");
            if name.starts_with("Deployment ") {
                let pods = &object["spec"]["template"]["metadata"]["labels"];
                let selected = object["spec"]["selector"]["matchLabels"]
                    .as_object()
                    .expect("a selector");
                let by: Vec<_> = selected.keys().collect();
                let never_change =
                    ["component", "instance", "name"].map(|label| format!("app.kubernetes.io/{label}"));
                assert_eq!(by, never_change.iter().collect::<Vec<_>>(), "{name}");
                for (label, value) in selected {
                    assert_eq!(&pods[label], value, "{name}: {label}");
                }
                assert_eq!(
                    (&pods["team"], &pods["helm.sh/chart"]),
                    (&json!("platform"), &Value::Null)
                );
            }
        }
    }
}

#[test]
fn every_pod_has_the_image_and_its_secrets_and_the_place_that_the_values_say() {
    let digest = format!("sha256:{}", "0".repeat(64));
    let objects = charted(&[
        "--set=profile=gate",
        "--set=image.repository=registry.example.com/platform/poolgate",
        &format!("--set=image.digest={digest}"),
        "--set=imagePullSecrets[0].name=registry",
        "--set=affinity.nodeAffinity=null",
        "--set=nodeSelector.pool=system",
        "--set=priorityClassName=",
        "--set=hostNetwork.enabled=true",
    ]);
    let image = format!("registry.example.com/platform/poolgate@{digest}");
    let mut ports = Vec::new();
    for deployment in DEPLOYMENTS {
        let pod = pod(&objects, deployment);
        assert_eq!(container(&objects, deployment)["image"], json!(image));
        assert_eq!(pod["imagePullSecrets"], json!([{"name": "registry"}]));
        assert_eq!(
            (&pod["affinity"], &pod["priorityClassName"]),
            (&Value::Null, &Value::Null)
        );
        assert_eq!(
            (&pod["nodeSelector"], &pod["hostNetwork"]),
            (&json!({"pool": "system"}), &json!(true))
        );
        for port in container(&objects, deployment)["ports"]
            .as_array()
            .expect("ports")
        {
            let number = &port["containerPort"];
            let flag = if port["name"] == "https" {
                "--listen"
            } else {
                "--probe-listen"
            };
            let said = json!(format!("{flag}={number}"));
            let arguments = container(&objects, deployment)["args"]
                .as_array()
                .expect("arguments");
            assert!(arguments.contains(&said), "{deployment}: {said} in {arguments:?}");
            ports.push(number.as_u64().expect("a port"));
        }
        let strategy = &objects[&format!("Deployment poolgate-system {deployment}")]["spec"]["strategy"];
        assert!(
            strategy["rollingUpdate"]["maxSurge"] == 0 || strategy["type"] == "Recreate",
            "{deployment}: its ports are taken on the node"
        );
    }
    let count = ports.len();
    ports.sort_unstable();
    ports.dedup();
    assert_eq!(ports.len(), count, "no two processes of a node share a port");
    assert!(
        !objects.keys().any(|name| name.starts_with("ResourceQuota")),
        "no priority, no quota"
    );
}

/// The values that a schema names.
fn names(schema: &Value, prefix: &str) -> Vec<String> {
    let mut all = Vec::new();
    for (key, schema) in schema["properties"].as_object().into_iter().flatten() {
        let name = [prefix, key].concat();
        all.extend(names(schema, &format!("{name}/")));
        all.push(name);
    }
    all
}

#[test]
fn every_value_at_once_passes_lint_and_renders() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/chart/every-value.yaml");
    let text = fs::read_to_string(file).expect("values");
    let set = parse(&text, &Limits::default())
        .next()
        .expect("values")
        .into_value();
    let schema = fs::read_to_string(format!("{CHART}/values.schema.json")).expect("the schema");
    let schema: Value = serde_json::from_str(&schema).expect("the schema");
    // Helm's own, for parent charts.
    for name in names(&schema, "").iter().filter(|name| *name != "global") {
        assert!(
            set.pointer(&format!("/{name}")).is_some(),
            "{file} does not set {name}"
        );
    }
    let values = format!("--values={file}");
    let authority = "--set=certificates.from=secret,certificates.caBundle=-----BEGIN CERTIFICATE-----";
    for others in [
        &[][..],
        &[
            "--set=certificates.from=cert-manager,ledgers.createNamespace=true,podDisruptionBudget.enabled=true",
        ],
        &[
            authority,
            "--set=monitoring.podMonitor.enabled=false,monitoring.serviceMonitor.enabled=true",
        ],
        &["--set=ledgers.fence=true,reconciler.fence=true,unhold.fence=true,reconciler.repair=true"],
    ] {
        let values = [&[&*values], others].concat();
        lint(&values).success();
        let objects = objects(&template(&values).success());
        for (name, object) in &objects {
            assert_eq!(object["metadata"]["labels"]["team"], "platform", "{name}");
        }
    }
}

/// What each component can be given, and what it then has.
#[test]
fn what_a_component_is_given_its_pods_have_and_no_others() {
    let gate = ["--set=profile=gate"];
    let plain = charted(&gate);
    let components = [
        ("admission", "poolgate"),
        ("gate", "poolgate-gate"),
        ("reconciler", "poolgate-reconciler"),
        ("certificates", "poolgate-certificates"),
    ];
    for (component, deployment) in components {
        let own = json!({
            "resources": {"requests": {"cpu": "7m"}},
            "affinity": {"podAffinity": {}},
            "nodeSelector": {"pool": "own"},
            "tolerations": [{"key": "own", "operator": "Exists"}],
            "topologySpreadConstraints": [{"topologyKey": "rack", "maxSkew": 2, "whenUnsatisfiable": "ScheduleAnyway"}],
            "priorityClassName": "own",
            "podAnnotations": {"own": "annotation"},
            "podLabels": {"own": "label"},
            "extraArgs": ["--no-such-flag"],
            "extraEnv": [{"name": "OWN", "value": "variable"}],
            "serviceAccount": {"name": "own", "annotations": {"role": "own"}},
            "replicas": 1,
        });
        let own = format!("--set-json={component}={own}");
        let objects = charted(&[&gate[..], &["--set=commonLabels.team=platform", &own]].concat());
        let of = |deployment: &str| &objects[&format!("Deployment poolgate-system {deployment}")]["spec"];
        let (spec, container) = (pod(&objects, deployment), container(&objects, deployment));
        let selected = &of(deployment)["selector"]["matchLabels"];
        for (found, expected) in [
            (&of(deployment)["replicas"], json!(1)),
            (&container["resources"]["requests"]["cpu"], json!("7m")),
            (
                &spec["affinity"],
                json!({"podAffinity": {}, "nodeAffinity": null}),
            ),
            (&spec["nodeSelector"], json!({"pool": "own"})),
            (
                &spec["tolerations"],
                json!([{"key": "own", "operator": "Exists"}]),
            ),
            (
                &spec["topologySpreadConstraints"][0]["labelSelector"]["matchLabels"],
                selected.clone(),
            ),
            (
                &spec["topologySpreadConstraints"][0]["topologyKey"],
                json!("rack"),
            ),
            (&spec["priorityClassName"], json!("own")),
            (&spec["serviceAccountName"], json!("own")),
            (&container["env"], json!([{"name": "OWN", "value": "variable"}])),
        ] {
            let expected = without_nulls(&expected);
            assert_eq!(found, &expected, "{component}");
        }
        let arguments = container["args"].as_array().expect("arguments");
        assert_eq!(arguments.last(), Some(&json!("--no-such-flag")), "{component}");
        let metadata = &of(deployment)["template"]["metadata"];
        assert_eq!(metadata["annotations"], json!({"own": "annotation"}));
        assert_eq!(
            (&metadata["labels"]["own"], &metadata["labels"]["team"]),
            (&json!("label"), &json!("platform"))
        );
        let account = &objects["ServiceAccount poolgate-system own"];
        assert_eq!(account["metadata"]["annotations"], json!({"role": "own"}));
        assert!(!objects.contains_key(&format!("ServiceAccount poolgate-system {deployment}")));
        // Whoever binds rights to the account, fences it, or gives it a priority level names the new one.
        for (name, object) in &objects {
            let text = object.to_string();
            let old = [
                format!("\"name\":\"{deployment}\",\"namespace\":\"poolgate-system\"}}]"),
                format!(":{deployment}'"),
                format!("\"serviceAccount\":{{\"name\":\"{deployment}\""),
            ];
            assert!(old.iter().all(|old| !text.contains(old)), "{name}: {text}");
        }
        for (_, other) in components.iter().filter(|(other, _)| *other != component) {
            assert_eq!(pod(&objects, other), pod(&plain, other), "{component}: {other}");
        }
    }
}

/// An object without its fields that are null.
fn without_nulls(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(fields) = object.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    object
}

/// `OpenShift` gives each namespace its own range of users and groups, and rejects pods that ask for others.
#[test]
fn no_pod_asks_for_a_user_and_each_refuses_to_be_root() {
    for (name, object) in charted(&["--set=profile=gate"]) {
        let text = object.to_string();
        for field in ["runAsUser", "runAsGroup", "fsGroup"] {
            assert!(!text.contains(field), "{name} has {field}");
        }
        if name.starts_with("Deployment ") || name.starts_with("CronJob ") {
            assert!(text.contains("\"runAsNonRoot\":true"), "{name}");
        }
    }
}

#[test]
fn a_parent_chart_may_leave_everything_out() {
    let rendered = template(&["--set=enabled=false", "--set=profile=gate-strict"]).success();
    assert_eq!(objects(&rendered), Objects::new());
}

#[test]
fn what_is_set_for_the_whole_chart_is_in_every_pod_and_webhook() {
    let objects = charted(&[
        "--set=profile=gate",
        "--set=image.registry=registry.example.com",
        "--set=logLevel=warn\\,poolgate=debug",
        "--set=logFormat=text",
        "--set=revisionHistoryLimit=2",
        "--set=admission.timeoutSeconds=5",
        "--set=gate.timeoutSeconds=4",
    ]);
    let version = env!("CARGO_PKG_VERSION");
    for deployment in DEPLOYMENTS {
        let container = container(&objects, deployment);
        assert_eq!(
            container["image"],
            format!("registry.example.com/poolgate:{version}")
        );
        let arguments = container["args"].as_array().expect("arguments");
        for flag in ["--log-level=warn,poolgate=debug", "--log-format=text"] {
            assert!(arguments.contains(&json!(flag)), "{deployment}: {arguments:?}");
        }
        let spec = &objects[&format!("Deployment poolgate-system {deployment}")]["spec"];
        assert_eq!(spec["revisionHistoryLimit"], 2, "{deployment}");
    }
    for (name, object) in objects
        .iter()
        .filter(|(name, _)| name.contains("WebhookConfiguration"))
    {
        let seconds = if name.ends_with("-gate") { 4 } else { 5 };
        assert_eq!(object["webhooks"][0]["timeoutSeconds"], seconds, "{name}");
    }
}

#[test]
fn an_exempt_pool_needs_poolgate_for_nothing_that_makes_nodes() {
    let strict = ["--set=profile=gate-strict", "--set=gateStrict.pools={licensed}"];
    let exempt = ["--set=exemptPools={system}", "--set=deletion.enabled=true"];
    let objects = charted(&[&strict[..], &exempt].concat());
    for (configuration, condition) in [
        (
            "MutatingWebhookConfiguration  poolgate",
            "!(object.metadata.?name.orValue('') in ['system'])",
        ),
        (
            "ValidatingWebhookConfiguration  poolgate",
            "!(object.metadata.?name.orValue('') in ['system'])",
        ),
        (
            "ValidatingWebhookConfiguration  poolgate-deletion",
            "!(oldObject.metadata.name in ['system'])",
        ),
        (
            "ValidatingWebhookConfiguration  poolgate-gate",
            "!(object.metadata.?labels[?'karpenter.sh/nodepool'].orValue('') in ['system'])",
        ),
    ] {
        for webhook in objects[configuration]["webhooks"].as_array().expect("webhooks") {
            let conditions = webhook["matchConditions"].as_array().expect("conditions");
            assert!(
                conditions.iter().any(|found| found["expression"] == condition),
                "{configuration}: {conditions:?}"
            );
        }
    }
    let both = template(&[&strict[..], &["--set=exemptPools={licensed}"]].concat());
    assert!(both.stderr.contains("Remove it from one of them"), "{both:?}");
}

#[test]
fn a_policy_file_is_shipped_as_it_is_and_observe_warns_whatever_it_says() {
    let text =
        "apiVersion: poolgate.dev/v1alpha1\nkind: Policy\n# Ours.\nenforcement: enforce\noverLimit: report\n";
    let files = directory(&[("policy.yaml", text)]);
    let file = format!("--set-file=policy={}", files.path().join("policy.yaml").display());
    let shipped = |values: &[&str]| {
        let policy = &charted(values)["ConfigMap poolgate-system poolgate-policy"]["data"]["policy.yaml"];
        policy.as_str().expect("a text").to_owned()
    };
    assert_eq!(shipped(&["--set=profile=enforce", &file]), text);
    let required = &charted(&["--set=policyRequired=true"]);
    let arguments = container(required, "poolgate")["args"]
        .as_array()
        .expect("arguments");
    assert!(
        arguments.contains(&json!("--policy-required")) && !arguments.contains(&json!("--policy-optional"))
    );
    let warned = shipped(&[&file]);
    assert!(
        warned.contains("enforcement: warn\n") && warned.contains("overLimit: report\n"),
        "{warned}"
    );
}

/// Pods of other programs are in kube-system, too, and the quota is deleted before the last Job runs.
#[test]
fn the_quota_counts_only_poolgate_and_is_not_needed_to_leave() {
    let rendered = |namespace: &str| {
        let namespace = format!("--namespace={namespace}");
        template(&["--set=profile=gate", "--set=reconciler.enabled=true", &namespace]).success()
    };
    assert!(rendered("poolgate-system").contains("kind: ResourceQuota"));
    let in_kube_system = rendered("kube-system");
    assert!(!in_kube_system.contains("kind: ResourceQuota"));
    let leaving = in_kube_system
        .split("\n---")
        .find(|object| object.contains("kind: Job\n") && object.contains("poolgate-leaving"));
    assert!(!leaving.expect("the Job").contains("priorityClassName"));
}

#[test]
fn the_chart_is_of_this_version_and_takes_no_value_that_it_does_not_know() {
    let chart = fs::read_to_string(format!("{CHART}/Chart.yaml")).expect("the chart");
    for field in ["version", "appVersion"] {
        let line = format!("\n{field}: {}\n", env!("CARGO_PKG_VERSION"));
        assert!(chart.contains(&line), "{line}");
    }
    let misspelt = template(&["--set=replica=3"]);
    assert!(misspelt.stderr.contains("'replica' not allowed"), "{misspelt:?}");
    let everywhere = objects(&template(&["--set=profile=gate", "--namespace=elsewhere"]).success());
    for (name, object) in everywhere {
        assert!(
            !object.to_string().contains("poolgate-system"),
            "{name}: {object}"
        );
    }
}
