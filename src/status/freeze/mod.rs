//! `poolgate freeze` and `poolgate unfreeze`: an annotation on NodePools, and the wait until the reconciler has marked their
//! nodes, or unmarked them.

mod args;
mod marked;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::anyhow;
use jiff::Timestamp;
use kube::api::{Patch, PatchParams};
use poolgate_core::api::{FREEZE_ANNOTATION, Freeze};
use poolgate_core::diagnostic::{counted, first_few};
use poolgate_core::nodelimit::plan::Pool;
use poolgate_core::policy::Policy;
use poolgate_files::terminal;
use serde::de::IgnoredAny;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::WRONG;
use super::look::Look;
use super::replacements::MOST_NAMES;
use crate::cluster::objects::{NODE_POOLS, PoolObject};
use crate::cluster::{ClusterReader, Collection, Deadline};
pub use args::{FreezeArgs, UnfreezeArgs};
use marked::{Leads, Marked};

/// The field manager of the annotation: it is not what applies the manifest.
const MANAGER: &str = "poolgate-freeze";

/// How long one request may take.
const ANSWER: Duration = Duration::from_secs(10);

/// How long to wait for the reconciler.
const PATIENCE: Duration = Duration::from_secs(30);

/// The pause between two looks.
const PAUSE: Duration = Duration::from_millis(500);

/// Who asks: the API server's answer.
const REVIEWS: &str = "/apis/authentication.k8s.io/v1/selfsubjectreviews";

/// What goes on in a frozen pool.
const GOES_ON: &str = "A freeze does not stop commands that Karpenter has begun (a node whose replacement is launching is \
                       still deleted), expiration, interruption, the repair of broken nodes, and fewer replicas of a \
                       static pool.";

/// Freezes NodePools, and waits until their nodes are marked. Returns the exit code.
pub fn freeze(args: &FreezeArgs) -> anyhow::Result<ExitCode> {
    let until = args.ends(Timestamp::now())?;
    let (runtime, client) = ClusterReader::connect(&args.look.cluster)?.into_parts();
    let look = args.look.look(&client, false);
    runtime.block_on(async {
        let pools = args.which.find(&look).await?;
        let by = match &args.by {
            Some(by) => by.clone(),
            None => asker(&look).await?,
        };
        let freeze = Freeze {
            until,
            by: Some(by),
            reason: Some(args.reason.clone()),
            mistake: None,
        };
        let value = json!(freeze.to_string());
        for pool in &pools {
            write(&look, pool, &value).await?;
            say(&format!(
                "NodePool {} is {}",
                pool.metadata.name,
                Freeze::parse(&freeze.to_string()).described()
            ))?;
        }
        let seen = wait(&look, &pools, true).await?;
        let spared = match seen.users {
            0 => String::new(),
            users => format!(", and {} protected by a user", counted(users, "node")),
        };
        say(&format!(
            "Marked: {}{spared}. {GOES_ON}",
            counted(seen.held.len(), "node")
        ))?;
        Ok(seen.verdict("not marked", &seen.open))
    })
}

/// Ends the freezes of NodePools, and waits until the marks are gone. Returns the exit code.
pub fn unfreeze(args: &UnfreezeArgs) -> anyhow::Result<ExitCode> {
    let (runtime, client) = ClusterReader::connect(&args.look.cluster)?.into_parts();
    let look = args.look.look(&client, false);
    runtime.block_on(async {
        let pools = args.which.find(&look).await?;
        for pool in &pools {
            let name = &pool.metadata.name;
            if Pool::of(&pool.kept(), &Policy::default()).freeze.is_none() {
                say(&format!("NodePool {name} has no freeze"))?;
                continue;
            }
            write(&look, pool, &Value::Null).await?;
            say(&format!("NodePool {name} is no longer frozen"))?;
        }
        let seen = wait(&look, &pools, false).await?;
        Ok(seen.verdict("still marked", &seen.held))
    })
}

fn say(line: &str) -> anyhow::Result<()> {
    Ok(terminal::print(terminal::clean(line) + "\n")?)
}

/// Writes the annotation of a NodePool, or removes it, whichever field manager owns it.
async fn write(look: &Look<'_>, pool: &PoolObject, value: &Value) -> anyhow::Result<()> {
    let name = &pool.metadata.name;
    let object = json!({
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        // A new pool of the same name has another UID.
        "metadata": {"name": name, "uid": pool.metadata.uid, "annotations": {FREEZE_ANNOTATION: value}},
    });
    let (params, patch) = if value.is_null() {
        let params = PatchParams {
            field_manager: Some(MANAGER.to_owned()),
            ..PatchParams::default()
        };
        (params, Patch::Merge(&object))
    } else {
        (PatchParams::apply(MANAGER).force(), Patch::Apply(&object))
    };
    let pools = Collection::<IgnoredAny>::new(look.client.clone(), NODE_POOLS);
    let written = pools
        .patch_metadata(name, &params, &patch, Deadline::within(ANSWER))
        .await;
    written.map_err(|error| anyhow!("could not write the annotation of NodePool {name}: {error}"))?;
    Ok(())
}

/// The name by which the API server knows who asks.
async fn asker(look: &Look<'_>) -> anyhow::Result<String> {
    let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    let reviews = Collection::<Value>::new(look.client.clone(), REVIEWS);
    let answer = reviews.create(&review, Deadline::within(ANSWER)).await;
    let answer = answer.map_err(|error| anyhow!("could not read who you are: {error}. Set --by NAME"))?;
    let name = answer
        .pointer("/status/userInfo/username")
        .and_then(Value::as_str);
    name.map(str::to_owned)
        .ok_or_else(|| anyhow!("the API server does not say who you are. Set --by NAME"))
}

/// Waits until the nodes are marked, or no longer, while a reconciler may do that.
async fn wait(look: &Look<'_>, pools: &[PoolObject], is_frozen: bool) -> anyhow::Result<Marked> {
    let by = Instant::now() + PATIENCE;
    let names: Vec<&str> = pools.iter().map(|pool| &*pool.metadata.name).collect();
    let namespace = look.namespace_of(&look.webhooks().await);
    loop {
        let (leads, seen) = tokio::join!(Leads::look(look, &namespace), Marked::look(look, &names));
        let mut seen = seen.map_err(|error| anyhow!("could not see the nodes: {error}"))?;
        seen.leads = leads;
        let left = if is_frozen { &seen.open } else { &seen.held };
        let is_done = leads == Leads::Now && left.is_empty();
        if is_done || leads == Leads::Never || Instant::now() >= by {
            return Ok(seen);
        }
        sleep(PAUSE).await;
    }
}

impl Marked {
    /// Says what is missing, if something is.
    fn verdict(&self, what: &str, left: &[String]) -> ExitCode {
        let missing = match (self.leads, left) {
            (Leads::Now, []) => return ExitCode::SUCCESS,
            (Leads::Now, left) => format!(
                "{} {what} after {} s: {}. The reconciler's log says why",
                counted(left.len(), "node"),
                PATIENCE.as_secs(),
                first_few(left, MOST_NAMES)
            ),
            (_, []) => "no reconciler of poolgate is leading that writes: the annotation alone does nothing"
                .to_owned(),
            (_, left) => format!(
                "{} {what}, because no reconciler of poolgate is leading that writes: the annotation alone does nothing",
                counted(left.len(), "node")
            ),
        };
        terminal::remark(&terminal::clean(&format!("error: {missing}")));
        WRONG.into()
    }
}
