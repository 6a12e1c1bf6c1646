//! One call to a portal's CRM, with what is needed to process it beside the records.

use jiff::Timestamp;
use url::form_urlencoded;

use super::fault::HubSpotFault;
use super::wire::WriteInput;
use crate::mock::crm::{Faults, Fields, Request, Value};

/// A call.
#[derive(Debug)]
pub(super) struct Call<'a> {
    pub(super) request: &'a Request,
    pub(super) faults: &'a mut Faults<HubSpotFault>,
    pub(super) now: Timestamp,
}

impl Call<'_> {
    /// The fault that this input of a batch meets. Rules see its properties, its `id` and the property that it goes
    /// by; its key is its id.
    pub(super) fn record_fault(&mut self, input: &WriteInput) -> Option<HubSpotFault> {
        let properties = input.properties.0.iter();
        let mut fields: Fields = properties
            .map(|(name, value)| (name.clone(), Value::text(value)))
            .collect();
        if let Some(id) = &input.id {
            fields.insert("id".into(), Value::text(id));
            let property = input.id_property.as_ref();
            fields.extend(property.map(|property| (property.clone(), Value::text(id))));
        }
        self.faults.at_record(self.request, input.id.as_deref(), &fields)
    }

    /// A list in the query: repeated, as HubSpot's clients write it, or separated by commas.
    pub(super) fn query_list(&self, name: &str) -> Vec<String> {
        let pairs = form_urlencoded::parse(self.request.query.as_bytes());
        let lists = pairs.filter(|(known, _)| known == name);
        let items = lists.flat_map(|(_, list)| list.split(',').map(str::to_owned).collect::<Vec<_>>());
        items.filter(|item| !item.is_empty()).collect()
    }
}
