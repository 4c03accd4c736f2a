//! A cluster of numbers instead of certificates, in which anything may happen at any moment.

use proptest::prelude::*;

use super::super::*;

pub const SETTINGS: Settings = Settings {
    authority_life: Duration::from_mins(500),
    leaf_life: Duration::from_mins(150),
    trust_wait: Duration::from_mins(1),
    serve_wait: Duration::from_mins(10),
};

/// How old the data of a process may be when it acts on it.
pub const LOOK: Duration = Duration::from_secs(30);

/// Foreign CAs have numbers from here on.
pub const FOREIGN: u32 = 1_000_000;

pub fn certificate(number: u32) -> Certificate {
    CertificateDer::from(number.to_be_bytes().to_vec())
}

pub fn number(certificate: &Certificate) -> u32 {
    u32::from_be_bytes(certificate.as_ref().try_into().expect("four bytes"))
}

pub fn lasting(number: u32, (not_before, not_after): (i64, i64)) -> Lasting {
    Lasting {
        certificate: certificate(number),
        not_before,
        not_after,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Leaf {
    pub number: u32,
    pub signer: u32,
    pub validity: (i64, i64),
}

/// What another writer may do, or what may happen.
#[derive(Debug, Clone)]
pub enum Event {
    Pass(u64),
    Look(usize),
    Act(usize),
    Crash(usize),
    SetClock(i64),
    EmptyAuthority,
    BreakKey,
    EmptyLeaf,
    AddForeign,
    /// Stores a foreign leaf, if its CA has been trusted for long enough.
    SwapLeaf,
    Install,
    Uninstall,
}

/// One of several processes that do not know of each other.
#[derive(Default)]
pub struct Process {
    pub since: Since,
    pub look: Option<(StoredCertificates, [u64; 3], Duration)>,
}

/// Everything that is stored, with the version of each object and its history.
pub struct World {
    pub begun: Instant,
    pub passed: Duration,
    pub clock: i64,
    pub next: u32,
    pub authority: Option<(u32, (i64, i64), bool)>,
    pub previous: Vec<u32>,
    /// What each webhook trusts, and what it trusted since when.
    pub bundles: Vec<Vec<u32>>,
    pub trusted: Vec<(Duration, Vec<Vec<u32>>)>,
    pub leaf: Option<Leaf>,
    pub served: Vec<(Duration, Option<Leaf>)>,
    /// Of the bundles, the leaf, the authority.
    pub versions: [u64; 3],
    pub processes: [Process; 2],
}

impl World {
    pub fn new() -> Self {
        Self {
            begun: Instant::now(),
            passed: Duration::ZERO,
            clock: 1_700_000_000,
            next: 0,
            authority: None,
            previous: Vec::new(),
            bundles: vec![Vec::new(); 2],
            trusted: Vec::new(),
            leaf: None,
            served: Vec::new(),
            versions: [0; 3],
            processes: Default::default(),
        }
    }

    /// Installs a foreign CA and leaf, as `certs/apply` does.
    pub fn belong_to_somebody_else(&mut self) {
        self.set_bundles(vec![vec![FOREIGN]; 2]);
        let validity = self.validity(SETTINGS.leaf_life);
        self.passed += SETTINGS.trust_wait;
        let leaf = Leaf {
            number: FOREIGN,
            signer: FOREIGN,
            validity,
        };
        self.set_leaf(Some(leaf));
    }

    pub fn wall(&self) -> i64 {
        self.clock + i64::try_from(self.passed.as_secs()).expect("a short test")
    }

    pub fn validity(&self, life: Duration) -> (i64, i64) {
        (
            self.wall() - 3_600,
            self.wall() + i64::try_from(life.as_secs()).expect("short"),
        )
    }

    pub fn new_number(&mut self) -> u32 {
        self.next += 1;
        self.next
    }

    pub fn set_bundles(&mut self, bundles: Vec<Vec<u32>>) {
        self.bundles.clone_from(&bundles);
        self.trusted.push((self.passed, bundles));
        self.versions[0] += 1;
    }

    pub fn set_leaf(&mut self, leaf: Option<Leaf>) {
        self.leaf = leaf;
        self.served.push((self.passed, leaf));
        self.versions[1] += 1;
    }

    pub fn seen(&self) -> StoredCertificates {
        let usable = self.authority.filter(|(.., has_key)| *has_key);
        let leaf = self
            .leaf
            .filter(|leaf| usable.is_some_and(|(number, ..)| leaf.signer == number));
        let broken = self.authority.filter(|(.., has_key)| !has_key);
        // The Secret of a leaf holds its authority as well.
        let of_leaf = self.leaf.filter(|_| leaf.is_none()).map(|leaf| leaf.signer);
        StoredCertificates {
            bundles: self
                .bundles
                .iter()
                .map(|bundle| Bundle {
                    certificates: bundle.iter().copied().map(certificate).collect(),
                    is_clean: true,
                })
                .collect(),
            leaf: leaf.map(|leaf| lasting(leaf.number, leaf.validity)),
            authority: usable.map(|(number, validity, _)| lasting(number, validity)),
            previous: broken
                .iter()
                .map(|(number, ..)| number)
                .chain(&self.previous)
                .chain(&of_leaf)
                .copied()
                .map(certificate)
                .collect(),
        }
    }

    pub fn look(&mut self, process: usize) {
        let (seen, versions, at) = (self.seen(), self.versions, self.begun + self.passed);
        let process = &mut self.processes[process];
        process.since.saw(&seen, at);
        process.look = Some((seen, versions, self.passed));
    }

    /// Does the step that a process decides on from what it has read, unless another writer was faster.
    pub fn act(&mut self, process: usize) -> Option<Step> {
        let now = Now {
            wall: self.wall(),
            at: self.begun + self.passed,
        };
        let one = &mut self.processes[process];
        let (seen, versions, looked) = one.look.take()?;
        if self.passed > looked + LOOK {
            return None;
        }
        let step = next_step(&seen, &one.since, now, &SETTINGS);
        let is_current = |object: usize| versions[object] == self.versions[object];
        match &step {
            Step::MakeAuthority { previous } if is_current(2) => {
                self.previous = previous.iter().map(number).collect();
                self.authority = Some((self.new_number(), self.validity(SETTINGS.authority_life), true));
                self.versions[2] += 1;
            }
            Step::ForgetPrevious if is_current(2) => {
                self.previous.clear();
                self.versions[2] += 1;
            }
            Step::Trust(target) if is_current(0) => {
                assert!(!target.is_empty());
                let target: Vec<u32> = target.iter().map(number).collect();
                self.set_bundles(vec![target; self.bundles.len()]);
            }
            Step::MakeLeaf if is_current(1) => {
                let authority = seen.authority.as_ref().expect("an authority signs");
                let leaf = Leaf {
                    number: self.new_number(),
                    signer: number(&authority.certificate),
                    validity: self.validity(SETTINGS.leaf_life),
                };
                self.set_leaf(Some(leaf));
            }
            _ => {}
        }
        Some(step)
    }

    pub fn happens(&mut self, event: &Event) {
        match *event {
            Event::Pass(seconds) => self.passed += Duration::from_secs(seconds),
            Event::Look(process) => self.look(process),
            Event::Act(process) => drop(self.act(process)),
            Event::Crash(process) => self.processes[process] = Process::default(),
            Event::SetClock(seconds) => self.clock += seconds,
            Event::EmptyAuthority => {
                (self.authority, self.previous) = (None, Vec::new());
                self.versions[2] += 1;
            }
            Event::BreakKey => {
                self.authority = self
                    .authority
                    .map(|(number, validity, _)| (number, validity, false));
                self.versions[2] += 1;
            }
            Event::EmptyLeaf => self.set_leaf(None),
            Event::AddForeign => {
                let foreign = FOREIGN + self.new_number();
                // An empty bundle has no owner yet.
                let add = |bundle: &Vec<u32>| match &bundle[..] {
                    [] => Vec::new(),
                    bundle => [bundle, &[foreign]].concat(),
                };
                self.set_bundles(self.bundles.iter().map(add).collect());
            }
            Event::SwapLeaf => {
                let number = self.new_number();
                let old = window(&self.trusted, self.passed, SETTINGS.trust_wait);
                // It must end before the CA is removed again.
                let before = window(
                    &self.trusted,
                    self.passed,
                    SETTINGS.serve_wait.saturating_sub(LOOK),
                );
                let known = self.bundles.iter().flatten().copied();
                let signer = known.filter(|number| *number >= FOREIGN).find(|number| {
                    let all = |bundles: &Vec<Vec<u32>>| bundles.iter().all(|bundle| bundle.contains(number));
                    old.iter().all(|bundles| all(bundles)) && !before.iter().all(|bundles| all(bundles))
                });
                if let Some(signer) = signer {
                    let validity = self.validity(SETTINGS.leaf_life);
                    self.set_leaf(Some(Leaf {
                        number,
                        signer,
                        validity,
                    }));
                }
            }
            Event::Install => self.set_bundles([&self.bundles[..], &[Vec::new()]].concat()),
            // If a CA is not stored any more, no process can know of it.
            Event::Uninstall if self.bundles.len() == 1 => {}
            Event::Uninstall => {
                let mut left = self.bundles.clone();
                left.pop();
                // A webhook that does not exist is never called.
                for (_, bundles) in &mut self.trusted {
                    bundles.truncate(left.len());
                }
                self.set_bundles(left);
            }
        }
    }

    /// Every pod may serve any leaf of the last `serve_wait`, and every API server may trust what was in a bundle
    /// at any time of the last `trust_wait`.
    pub fn assert_trusted(&self) {
        for leaf in window(&self.served, self.passed, SETTINGS.serve_wait)
            .into_iter()
            .flatten()
        {
            for bundles in window(&self.trusted, self.passed, SETTINGS.trust_wait) {
                for bundle in bundles.iter().filter(|bundle| !bundle.is_empty()) {
                    assert!(
                        bundle.contains(&leaf.signer),
                        "{leaf:?} is not trusted by {bundle:?}"
                    );
                }
            }
        }
    }

    /// Lets one process work alone until nothing is left to do.
    pub fn settle(&mut self) {
        for _ in 0..200 {
            self.look(0);
            match self.act(0) {
                Some(Step::Rest) => return,
                Some(Step::Wait(wait)) => {
                    assert!(!wait.is_zero(), "it would wait for nothing");
                    self.passed += wait;
                }
                Some(Step::ClockIsBehind) => self.clock += 20_000,
                _ => self.passed += Duration::from_secs(1),
            }
            self.assert_trusted();
        }
        panic!("it never comes to rest");
    }
}

/// What was there at any time of the last `wait`.
pub fn window<T>(history: &[(Duration, T)], now: Duration, wait: Duration) -> Vec<&T> {
    let oldest = history.iter().rposition(|(from, _)| *from + wait <= now);
    let rest = history.get(oldest.unwrap_or_default()..).unwrap_or_default();
    rest.iter().map(|(_, value)| value).collect()
}

pub fn event() -> impl Strategy<Value = Event> {
    let process = || 0_usize..2;
    prop_oneof![
        6 => prop_oneof![0..5_u64, 50..70_u64, 590..620_u64, 1_000..12_000_u64].prop_map(Event::Pass),
        8 => process().prop_map(Event::Look),
        10 => process().prop_map(Event::Act),
        1 => process().prop_map(Event::Crash),
        1 => prop_oneof![-20_000..-1_i64, 1..20_000_i64].prop_map(Event::SetClock),
        1 => Just(Event::EmptyAuthority),
        1 => Just(Event::BreakKey),
        1 => Just(Event::EmptyLeaf),
        1 => Just(Event::AddForeign),
        2 => Just(Event::SwapLeaf),
        1 => Just(Event::Install),
        1 => Just(Event::Uninstall),
    ]
}
