//! Labels of the kernels of one table.
//!
//! Two kernels whose short names are equal also show what differs between their full names:
//! `direct_copy_kernel_cuda (elementwise) [Half]`. The browser does it by the same rules.

use std::collections::{BTreeMap, HashMap, HashSet};

use stepscope_model::Cell;

use crate::kernel_name;

/// A label for each full name; labels of different names differ.
#[must_use]
pub fn labels<'a>(names: impl IntoIterator<Item = &'a str>) -> HashMap<&'a str, String> {
    let mut groups: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    let mut seen = HashSet::new();
    for name in names.into_iter().filter(|name| seen.insert(*name)) {
        groups.entry(kernel_name::short(name).into_owned()).or_default().push(name);
    }
    let mut labels = HashMap::new();
    for (short, group) in groups {
        let apart = if group.len() > 1 { differences(&group) } else { Some(vec![String::new()]) };
        for (place, name) in group.into_iter().enumerate() {
            let label = match apart.as_ref().map(|texts| texts[place].as_str()) {
                None => name.to_owned(),
                Some("") => short.clone(),
                Some(difference) => format!("{short} [{difference}]"),
            };
            labels.insert(name, label);
        }
    }
    labels
}

/// The labels of a column of names.
pub(crate) fn of_cells<'a>(cells: impl IntoIterator<Item = &'a Cell>) -> HashMap<&'a str, String> {
    labels(cells.into_iter().filter_map(|cell| if let Cell::Text(name) = cell { Some(name.as_str()) } else { None }))
}

/// What each name has and not all have; `None` if words do not tell them apart.
fn differences(names: &[&str]) -> Option<Vec<String>> {
    let all: Vec<Vec<&str>> = names.iter().map(|name| words(name)).collect();
    let own: Vec<Vec<&str>> = all.iter().map(|words| own_words(words, &all)).collect();
    // Types and sizes say more than the numbers of lambdas.
    let candidates = [own.iter().map(|words| without_lambdas(words)).collect(), own, middles(&all)];
    let mut texts = candidates.iter().map(|each| each.iter().map(|words| words.join(", ")).collect::<Vec<_>>());
    texts.find(|each| each.iter().collect::<HashSet<_>>().len() == names.len())
}

fn without_lambdas<'a>(words: &[&'a str]) -> Vec<&'a str> {
    words.iter().copied().filter(|word| !word.starts_with('#')).collect()
}

/// The words that not all names have, each once.
fn own_words<'a>(words: &[&'a str], all: &[Vec<&'a str>]) -> Vec<&'a str> {
    let mut seen = HashSet::new();
    let is_own = |word: &&str| !all.iter().all(|words| words.contains(word));
    words.iter().copied().filter(|word| seen.insert(*word)).filter(is_own).collect()
}

/// Words of a name without namespaces; the number of a lambda keeps its sign.
fn words(name: &str) -> Vec<&str> {
    let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let mut words = Vec::new();
    let mut rest = 0;
    while let Some(start) = name[rest..].find(is_word).map(|place| rest + place) {
        let end = name[start..].find(|letter| !is_word(letter)).map_or(name.len(), |place| start + place);
        let start = if name[..start].ends_with('#') { start - 1 } else { start };
        if !name[end..].starts_with("::") {
            words.push(&name[start..end]);
        }
        rest = end;
    }
    words
}

/// The words between those that all begin with and those that all end with.
fn middles<'a>(all: &[Vec<&'a str>]) -> Vec<Vec<&'a str>> {
    let shortest = all.iter().map(Vec::len).min().unwrap_or(0);
    let is_same = |of: &dyn Fn(&Vec<&'a str>) -> &'a str| all.iter().all(|words| of(words) == of(&all[0]));
    let start = (0..shortest).take_while(|place| is_same(&|words| words[*place])).count();
    let end = (0..shortest - start).take_while(|place| is_same(&|words| words[words.len() - 1 - place])).count();
    all.iter().map(|words| words[start..words.len() - end].to_vec()).collect()
}

#[cfg(test)]
mod tests {
    use super::labels;

    // `kernel_labels.test.ts` of the browser has the same cases.
    #[track_caller]
    fn check(names: [&str; 2], want: [&str; 2]) {
        let labels = labels(names);
        assert_eq!(names.map(|name| labels[name].as_str()), want);
    }

    #[test]
    fn names_that_differ_stay_short() {
        check(["gemm_128", "gemm_64"], ["gemm_128", "gemm_64"]);
        check(["void f<int, 1>(a)", "void f<int, 1>(a)"], ["f<1>", "f<1>"]);
    }

    #[test]
    fn equal_short_names_show_the_words_that_differ() {
        check(
            [
                "void at::native::reduce_kernel<128, 4, at::native::MeanOps<float, float> >(at::native::MeanOps<float, float>)",
                "void at::native::reduce_kernel<512, 1, at::native::MeanOps<float, float> >(at::native::MeanOps<float, float>)",
            ],
            ["MeanOps<float, float> (reduce) [128, 4]", "MeanOps<float, float> (reduce) [512, 1]"],
        );
        check(
            [
                "void at::native::vectorized_elementwise_kernel<4, at::native::masked_fill_kernel(at::TensorIterator&)::{lambda()#7}::operator()() const::{lambda(float, bool)#1}>(int)",
                "void at::native::vectorized_elementwise_kernel<4, at::native::masked_fill_kernel(at::TensorIterator&)::{lambda()#12}::operator()() const::{lambda(c10::BFloat16, bool)#1}>(int)",
            ],
            [
                "masked_fill_kernel (vectorized_elementwise) [float]",
                "masked_fill_kernel (vectorized_elementwise) [BFloat16]",
            ],
        );
        // One has all that the other has.
        check(
            [
                "void at::native::elementwise_kernel<128, at::native::Add<float>, at::Load>(int)",
                "void at::native::elementwise_kernel<128, at::native::Add<float>, at::Load, at::Cast>(int)",
            ],
            ["Add<float> (elementwise)", "Add<float> (elementwise) [Cast]"],
        );
    }

    #[test]
    fn numbers_of_lambdas_order_and_signs_are_the_last_resort() {
        check(
            [
                "void at::native::elementwise_kernel<128, 4, at::native::copy(at::Tensor&)::{lambda()#2}::operator()() const>(int)",
                "void at::native::elementwise_kernel<128, 4, at::native::copy(at::Tensor&)::{lambda()#3}::operator()() const>(int)",
            ],
            ["copy (elementwise) [#2]", "copy (elementwise) [#3]"],
        );
        check(
            ["void a::f<float, half, 2>(x)", "void a::f<half, float, 2>(x)"],
            ["f<2> [float, half]", "f<2> [half, float]"],
        );
        check(
            ["void a::f<float*, 2>(x)", "void a::f<float, 2>(x)"],
            ["void a::f<float*, 2>(x)", "void a::f<float, 2>(x)"],
        );
    }
}
