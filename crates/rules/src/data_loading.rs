//! The step waits for the data loader.

use stepscope_model::{Class, Target, say};

use super::{
    Causes, Facts, Fix, Found, Framework, Instances, Limits, Meant, Need, Remedy, Rule, Threshold, Weight, Window,
    slow_first_batch, too_few_workers,
};

const SHARE: Threshold = Threshold {
    name: "share_ratio",
    value: 0.03,
    meaning: "data loading above this share of the critical path, or of the step without a path",
};

const STEPS: Threshold =
    Threshold { name: "steps_ratio", value: 0.05, meaning: "it must be in this share of the steps" };

/// Names of regions that load data: letters and digits only, any case. `docs/findings.md` lists them.
const LOADING_REGIONS: [&str; 20] = [
    "dataloading",
    "dataload",
    "dataloader",
    "dataloadernext",
    "datafetch",
    "datafetching",
    "datawait",
    "loaddata",
    "fetchdata",
    "getdata",
    "waitfordata",
    "nextbatch",
    "getbatch",
    "getnextbatch",
    "fetchbatch",
    "loadbatch",
    "batchload",
    "batchloading",
    "inputpipeline",
    "loadinputs",
];

/// Words before such a name that say which data it is.
const WHICH_DATA: [&str; 5] = ["train", "val", "valid", "eval", "test"];

pub(super) static RULE: Rule = Rule {
    name: "data_loading",
    label: "Data loading",
    what: "More than {share_ratio} of the critical path of a rank waits for a DataLoader or for `tf.data`. Without these, regions named for data loading count, such as `data_loading`.",
    why: "The next batch is not ready when the step needs it, so the step waits until the host has built it.",
    thresholds: &[SHARE, STEPS],
    weight: Weight::Saving(Remedy::InputReady),
    explained_by: Causes::None,
    fixes: &[
        Fix {
            code: "DataLoader(dataset, batch_size=…, num_workers=4,\n           pin_memory=True, persistent_workers=True)",
            when: &[Need::Device, Need::Uses(Framework::LoaderInProcess)],
        },
        Fix {
            code: "DataLoader(dataset, batch_size=…, num_workers=4, persistent_workers=True)",
            when: &[Need::HostOnly, Need::Uses(Framework::LoaderInProcess)],
        },
        Fix {
            code: "# more workers, or less work in each: DataLoader(…, num_workers=…, prefetch_factor=4)",
            when: &[Need::Uses(Framework::LoaderWithWorkers)],
        },
        Fix {
            code: "# load the next batch while this one computes: a thread, or a DataLoader with num_workers=4",
            when: &[Need::Without(Framework::LoaderInProcess), Need::Without(Framework::LoaderWithWorkers)],
        },
        Fix {
            code: "dataset.map(…, num_parallel_calls=tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)   # `stepscope input` names the slowest stage",
            when: &[Need::Uses(Framework::Xla)],
        },
    ],
    not_this: "if the data is already in memory, or loading is what you measure",
    show: &[Target::of("steps")],
    instances: Instances {
        sql: "SELECT name, first_value(span_id ORDER BY dur_ns DESC, span_id) AS span_id,
                  first_value(start_ns ORDER BY dur_ns DESC, span_id) AS start_ns, max(dur_ns) AS dur_ns
           FROM timeline_spans WHERE {events} AND kind = 'ann' GROUP BY name",
        meant: Meant::Named(|name| name.starts_with("enumerate(Data") || is_loading_region(name)),
        is_moment: false,
    },
    find,
};

/// Whether a region has a name for data loading: `data_loading`, `train/next_batch`, `Loader::get_batch`, `load_data#3`.
#[must_use]
pub fn is_loading_region(name: &str) -> bool {
    let name = name.split_once('#').map_or(name, |(name, _)| name);
    let last = name.rsplit(['/', ':', '.']).next().unwrap_or_default();
    let letters: String = last.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    let letters = letters.trim_end_matches(|letter: char| letter.is_ascii_digit());
    let is_known = |name: &str| LOADING_REGIONS.contains(&name);
    is_known(letters) || WHICH_DATA.iter().any(|which| letters.strip_prefix(which).is_some_and(is_known))
}

fn find(facts: &Facts, limits: &Limits<'_>) -> Option<Found> {
    // A region says what the classes of a step cannot: these are told by the annotations of frameworks.
    let by_class_ns = facts.of(Class::Dataloader);
    let loading_ns = by_class_ns.max(facts.region_loading_ns).min(facts.step_ns);
    // One rank that waits for its input holds up the others.
    let is_usual = |window: &Window| window.is_in(limits.of(&STEPS), |step| step.loader_ns > 0);
    let window = facts.window.as_ref().filter(|_| by_class_ns >= facts.region_loading_ns);
    let on_path = window.map(|window| window.rank_with_most(|step| step.loader_ns));
    let (share, time) = match on_path {
        Some(window) if is_usual(&window) => (window.share(|step| step.loader_ns), "critical path"),
        Some(_) => return None,
        None => (facts.share(loading_ns), "step time"),
    };
    // What is known more exactly is for another rule to say.
    let is_known = [too_few_workers::is_found, slow_first_batch::is_found].iter().any(|is| is(facts, limits.all()));
    if share <= limits.of(&SHARE) || is_known {
        return None;
    }
    let mut evidence = Vec::new();
    let mut figures = vec![("share_ratio", share)];
    let is_single = facts.loaders.keys().any(|name| name.contains("_SingleProcessDataLoaderIter"));
    let workers = if is_single { "num_workers=0; " } else { "" };
    evidence.push(say!("{}loading is {} of the {}", workers, say::ratio(share), time));
    let range = facts.loading_range_ns.filter(|_| by_class_ns >= facts.region_loading_ns);
    if let Some((least, most)) = range.filter(|(least, most)| least < most) {
        evidence.push(say!("{} – {} per step", say::ns(least as f64), say::ns(most as f64)));
        figures.extend([("least_ns", least as f64), ("most_ns", most as f64)]);
    }
    for (name, calls) in facts.loaders.iter().take(2) {
        evidence.push(say!("{}: {}", name, say::counted(*calls as usize, "call")));
        figures.push(("calls", *calls as f64));
    }
    for (name, calls) in facts.loading_regions.iter().take(2) {
        evidence.push(say!("region `{}`: {}", name, say::counted(*calls as usize, "call")));
        figures.push(("calls", *calls as f64));
    }
    let what = if facts.loaders.is_empty() { "data" } else { "the DataLoader" };
    let title = say!("The step waits for {}", what);
    Some(Found { title, at_stake_ns: Some(facts.per_step(loading_ns)), evidence, figures })
}

#[cfg(test)]
mod tests {
    use super::{Meant, RULE, is_loading_region};

    #[test]
    fn usual_spellings_are_known() {
        for name in [
            "data_loading",
            "Data Loading",
            "DATA-LOADING",
            "dataloading",
            "load_data",
            "data_load",
            "DataLoader",
            "data_loader",
            "next_batch",
            "get_batch",
            "fetch_batch",
            "input_pipeline",
            "train/data_loading",
            "val_dataloader",
            "Trainer::get_batch",
            "[_TrainingEpochLoop].train_dataloader_next",
            "load_data#3",
            "next_batch_2",
            "dataloader_next",
            "data_fetch",
            "data_fetching",
            "data_wait",
            "fetch_data",
            "get_data",
            "wait_for_data",
            "get_next_batch",
            "load_batch",
            "batch_load",
            "batch_loading",
            "load_inputs",
            "valid_next_batch",
            "eval.load_data",
            "test_get_data",
        ] {
            assert!(is_loading_region(name), "{name}");
        }
        for name in [
            "forward",
            "data",
            "batch",
            "load_checkpoint",
            "data_parallel",
            "loading",
            "upload_data",
            "train",
            "dev_load_data",
            "",
            "#",
        ] {
            assert!(!is_loading_region(name), "{name}");
        }
    }

    #[test]
    fn instances_are_calls_of_iterators_and_regions() {
        let Meant::Named(is_meant) = &RULE.instances.meant else { panic!("not by name") };
        for name in
            ["enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", "enumerate(DataPipe)#X", "load_data"]
        {
            assert!(is_meant(name), "{name}");
        }
        for name in ["forward", "DataLoader.close", "enumerate(batches)"] {
            assert!(!is_meant(name), "{name}");
        }
    }
}
