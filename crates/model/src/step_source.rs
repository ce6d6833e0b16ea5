//! Where the steps of a recording come from (metrics, section 5).

use serde::{Deserialize, Serialize};

/// What marks steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepSource {
    /// The profiler of torch.
    ProfilerStep,
    /// A serving engine.
    ServingAnnotation,
    /// The calls of an optimizer.
    OptimizerStep,
    /// Numbered annotations of TensorFlow, Keras or JAX.
    StepNum,
    /// Steps that the profiler found on a device.
    DeviceSteps,
    /// Runs of a function or a graph of TensorFlow.
    FunctionRun,
    /// Runs of the compiled program that takes the most time.
    ModuleRuns,
    /// Nothing: the recording counts as one step.
    WholeTrace,
    /// Nothing, and there is nothing to count.
    #[default]
    None,
}

impl StepSource {
    /// The word in tables and JSON.
    #[must_use]
    pub fn as_text(self) -> &'static str {
        match self {
            Self::ProfilerStep => "profiler_step",
            Self::ServingAnnotation => "serving_annotation",
            Self::OptimizerStep => "optimizer_step",
            Self::StepNum => "step_num",
            Self::DeviceSteps => "device_steps",
            Self::FunctionRun => "function_run",
            Self::ModuleRuns => "module_runs",
            Self::WholeTrace => "whole_trace",
            Self::None => "none",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_is_the_one_in_records() {
        for source in [StepSource::ProfilerStep, StepSource::WholeTrace, StepSource::None] {
            assert_eq!(serde_json::to_value(source).unwrap(), source.as_text());
        }
    }
}
