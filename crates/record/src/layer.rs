//! Regions of programs that use `tracing`: a layer that records each span whenever it is entered.

use tracing::Subscriber;
use tracing::span::{Attributes, Id};
use tracing_subscriber::layer::{Context, Layer};
use tracing_subscriber::registry::LookupSpan;

use crate::names::{NameId, Scope};
use crate::thread::{enter_named, leave_named};

/// Records the spans of `tracing` as regions.
///
/// ```
/// use tracing_subscriber::layer::SubscriberExt as _;
///
/// let subscriber = tracing_subscriber::registry().with(stepscope_record::TracingLayer);
/// tracing::subscriber::with_default(subscriber, || {
///     let _span = tracing::info_span!("load").entered();
/// });
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct TracingLayer;

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for TracingLayer {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        if let Some(span) = context.span(id) {
            span.extensions_mut().insert(Scope::RUST.name(attributes.metadata().name()));
        }
    }

    fn on_enter(&self, id: &Id, context: Context<'_, S>) {
        if let Some(name) = name_of(id, &context) {
            enter_named(name, 0);
        }
    }

    fn on_exit(&self, id: &Id, context: Context<'_, S>) {
        if let Some(name) = name_of(id, &context) {
            leave_named(name, 0, None);
        }
    }
}

fn name_of<S: Subscriber + for<'a> LookupSpan<'a>>(id: &Id, context: &Context<'_, S>) -> Option<NameId> {
    context.span(id)?.extensions().get::<NameId>().copied()
}
