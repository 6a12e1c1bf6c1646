//! What the descriptions of objects mean for rows. Pure.

use super::objects::{Described, Field, Objects, Seen};
use crate::destination::preflight::Finding;
use crate::destination::salesforce::rendering::SalesforceRendering;

/// What `objects` say of rows of `rendering`.
pub(super) fn about(objects: &Objects, rendering: &SalesforceRendering) -> Vec<Finding> {
    let object = &rendering.object;
    let own = match objects.get(object) {
        Some(Seen::Described(own)) => own,
        Some(Seen::Hidden) => {
            return vec![Finding::refused(format!(
                "the org has no object `{object}`, or the user may not see it; check object and the user's permissions"
            ))];
        }
        Some(Seen::Unclear(why)) => {
            return vec![Finding::unclear(format!(
                "the fields of `{object}` cannot be looked at ({why})"
            ))];
        }
        None => return Vec::new(),
    };
    let mut findings = vec![about_object(own, rendering), about_id(own, rendering)];
    let fields = rendering.mapping.fields.keys();
    findings.extend(fields.map(|name| match name.split_once('.') {
        Some((relationship, id)) => about_reference(objects, own, relationship, id, rendering),
        None => about_field(own.field(name), name, rendering),
    }));
    findings
}

fn about_object(own: &Described, rendering: &SalesforceRendering) -> Finding {
    let object = &rendering.object;
    if own.updateable && (own.createable || rendering.update_only) {
        return Finding::good(format!("the user may write `{object}`"));
    }
    Finding::refused(format!(
        "the user may not create and change `{object}`; give it a permission set that allows that"
    ))
}

fn about_id(own: &Described, rendering: &SalesforceRendering) -> Finding {
    let (object, name) = (&rendering.object, &rendering.external_id);
    match own.field(name) {
        None => Finding::refused(format!(
            "`{object}` has no field `{name}`, which external_id names, or the user may not see it; create it as an External \
             ID, unique, or grant the user access to it"
        )),
        Some(field) if !field.external_id => Finding::refused(format!(
            "`{object}`.`{name}`, which external_id names, is no External ID; tick External ID in its definition"
        )),
        Some(field) if !field.unique => Finding::refused(format!(
            "`{object}`.`{name}`, which external_id names, is not unique, so that one row could meet several records; tick \
             Unique in its definition"
        )),
        Some(_) => Finding::good(format!(
            "records of `{object}` are found by `{name}`, which is unique"
        )),
    }
}

/// `field` is what the org says of the field `name`, or of the reference that it goes by.
fn about_field(field: Option<&Field>, name: &str, rendering: &SalesforceRendering) -> Finding {
    let object = &rendering.object;
    match field.map(|field| (field.createable || rendering.update_only, field.updateable)) {
        None => Finding::refused(format!(
            "`{object}` has no field `{name}`, which fields names, or the user may not see it; create it, grant the user \
             access to it, or remove it from fields"
        )),
        Some((true, true)) => Finding::good(format!("`{object}`.`{name}` can be written")),
        Some((true, false)) => Finding::unclear(format!(
            "`{object}`.`{name}`, which fields names, can be set only when a record is created; a change of it is refused"
        )),
        Some((false, _)) => Finding::refused(format!(
            "`{object}`.`{name}`, which fields names, cannot be written; grant the user access to it, or remove it from \
             fields"
        )),
    }
}

/// What there is to say of the field `relationship.id`.
fn about_reference(
    objects: &Objects,
    own: &Described,
    relationship: &str,
    id: &str,
    rendering: &SalesforceRendering,
) -> Finding {
    let name = format!("{relationship}.{id}");
    let Some(reference) = own.related(relationship) else {
        return Finding::refused(format!(
            "`{}` has no relationship `{relationship}`, which `{name}` in fields goes by, or the user may not see it; that of a \
             custom field `X__c` is named `X__r`",
            rendering.object
        ));
    };
    about_target(objects, reference, &name, id)
        .unwrap_or_else(|| about_field(Some(reference), &name, rendering))
}

/// What speaks against finding a record that `reference` can be to by its field `id`. `name` is what fields call it.
fn about_target(objects: &Objects, reference: &Field, name: &str, id: &str) -> Option<Finding> {
    let targets = reference.targets();
    if objects.found_in(targets, id).is_some() {
        return None;
    }
    let unclear = |why: &str| {
        Finding::unclear(format!(
            "whether a record can be found by `{name}` cannot be seen ({why})"
        ))
    };
    let mut has_it = None;
    for target in targets {
        match objects.get(target) {
            Some(Seen::Described(described)) if described.field(id).is_some() => has_it = Some(target),
            Some(Seen::Described(_)) => {}
            Some(Seen::Unclear(why)) => return Some(unclear(why)),
            Some(Seen::Hidden) | None => return Some(unclear(&format!("the user may not see `{target}`"))),
        }
    }
    if targets.len() < reference.reference_to.len() || targets.is_empty() {
        return Some(unclear(
            "the org names too many objects that it could be in, or none",
        ));
    }
    let every = targets.join("`, `");
    Some(Finding::refused(match has_it {
        Some(target) => format!(
            "`{target}`.`{id}`, which `{name}` in fields names, is no External ID, so no record can be found by it; tick External \
             ID in its definition, or name a field that is one"
        ),
        None => format!(
            "`{every}` has no field `{id}`, which `{name}` in fields names, or the user may not see it; name an External ID that \
             is there, or grant the user access to it"
        ),
    }))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::core::secrets::Secrets;
    use crate::destination::Rendering;
    use crate::destination::answer::Answer;
    use crate::destination::preflight::Grade;

    fn rendering(external_id: &str, field: &str) -> SalesforceRendering {
        let recorded = json!({
            "api_version": "62.0", "call_options": null, "duplicate_rule": null, "external_id": external_id, "id_from": null,
            "mapping": { "fields": { field: { "source": { "path": ["a"] } } }, "null_policy": "clear" },
            "object": "Account", "send_key": true, "update_only": false, "v": 1,
        });
        SalesforceRendering::parse(&Rendering(recorded.to_string())).unwrap()
    }

    fn field(name: &str, [is_key, unique, createable, updateable]: [bool; 4]) -> Value {
        json!({
            "name": name, "externalId": is_key, "unique": unique, "createable": createable, "updateable": updateable,
        })
    }

    fn reference(name: &str, relationship: &str, targets: &[&str]) -> Value {
        json!({
            "name": name, "relationshipName": relationship, "referenceTo": targets, "createable": true, "updateable": true,
        })
    }

    fn seen(status: u16, fields: &[Value]) -> Seen {
        let body = json!({ "createable": true, "updateable": true, "fields": fields });
        Seen::of(&Answer {
            status,
            headers: reqwest::header::HeaderMap::new(),
            excerpt: None,
            body: body.to_string().into_bytes(),
            secrets: Secrets::none(),
            trouble: None,
        })
    }

    fn account(status: u16) -> Seen {
        let many: Vec<String> = (0..20).map(|number| format!("Many{number}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let mut once = reference("OnceId", "Once", &["Account"]);
        once["updateable"] = false.into();
        seen(
            status,
            &[
                field("Ext__c", [true, true, true, true]),
                field("Loose__c", [true, false, true, true]),
                field("Name", [false, false, true, true]),
                field("Formula__c", [false, false, false, false]),
                reference("ParentId", "Parent", &["account"]),
                once,
                reference("OwnerId", "Owner", &["Group", "User"]),
                reference("Hidden__c", "Hidden__r", &["Hidden__c"]),
                reference("Broken__c", "Broken__r", &["Broken__c"]),
                reference("Many__c", "Many__r", &many),
                reference("Nowhere__c", "Nowhere__r", &[]),
            ],
        )
    }

    /// What the org says if it is asked as long as `rendering` wants to know more, and the objects it was asked for.
    fn looked_at(rendering: &SalesforceRendering) -> (Objects, Vec<String>) {
        let mut objects = Objects::default();
        let mut asked = Vec::new();
        while let Some(name) = objects.wanted(rendering).map(str::to_owned) {
            let seen = match name.as_str() {
                "Account" => account(200),
                "User" => seen(
                    200,
                    &[json!({
                        "name": "Username", "idLookup": true, "createable": true, "updateable": true,
                    })],
                ),
                "Hidden__c" => seen(404, &[]),
                "Broken__c" => seen(500, &[]),
                _ => seen(200, &[field("Name", [false, false, true, true])]),
            };
            objects.insert(&name, seen);
            asked.push(name);
        }
        (objects, asked)
    }

    /// The findings about the external id and about the field.
    fn findings(external_id: &str, field: &str) -> [Finding; 2] {
        let rendering = rendering(external_id, field);
        let [_, id, field] = about(&looked_at(&rendering).0, &rendering).try_into().unwrap();
        [id, field]
    }

    #[test]
    fn an_external_id_must_be_one_and_be_unique() {
        assert!(
            findings("ext__c", "Name")
                .iter()
                .all(|finding| finding.grade == Grade::Good)
        );
        for refused in ["Loose__c", "Name", "Missing__c"] {
            assert_eq!(findings(refused, "Name")[0].grade, Grade::Refused, "{refused}");
        }
    }

    #[test]
    fn a_field_must_be_there_and_take_values() {
        for field in ["Formula__c", "Missing__c"] {
            assert_eq!(findings("Ext__c", field)[1].grade, Grade::Refused, "{field}");
        }
    }

    #[test]
    fn a_related_record_must_be_found_by_an_external_id_of_its_own_object() {
        for (field, grade, words) in [
            ("Parent.ext__c", Grade::Good, "`Parent.ext__c` can be written"),
            ("Once.Ext__c", Grade::Unclear, "only when a record is created"),
            ("Nobody__r.Ext__c", Grade::Refused, "no relationship `Nobody__r`"),
            ("ParentId.Ext__c", Grade::Refused, "no relationship `ParentId`"),
            (
                "Parent.Nope__c",
                Grade::Refused,
                "`account` has no field `Nope__c`",
            ),
            (
                "Parent.Name",
                Grade::Refused,
                "`account`.`Name`, which `Parent.Name` in fields names, is no External ID",
            ),
            ("Owner.Username", Grade::Good, "can be written"),
            (
                "Owner.Nope__c",
                Grade::Refused,
                "`Group`, `User` has no field `Nope__c`",
            ),
        ] {
            let found = &findings("Ext__c", field)[1];
            assert!(
                found.grade == grade && found.sentence.contains(words),
                "{field}: {found:?}"
            );
        }
    }

    #[test]
    fn a_related_object_that_cannot_be_seen_keeps_no_row_back() {
        for (field, words) in [
            ("Hidden__r.Ext__c", "the user may not see `Hidden__c`"),
            ("Broken__r.Ext__c", "HTTP 500"),
            ("Many__r.Ext__c", "too many objects"),
            ("Nowhere__r.Ext__c", "or none"),
        ] {
            let found = &findings("Ext__c", field)[1];
            assert!(
                found.grade == Grade::Unclear && found.sentence.contains(words),
                "{field}: {found:?}"
            );
        }
    }

    #[test]
    fn only_objects_that_rows_refer_to_are_looked_at_and_none_twice() {
        let asked = |field| looked_at(&rendering("Ext__c", field)).1;
        assert_eq!(asked("Name"), ["Account"]);
        assert_eq!(asked("Parent.Nope__c"), ["Account"], "it is known already");
        assert_eq!(asked("Owner.Username"), ["Account", "Group", "User"]);
        assert_eq!(asked("Owner.Name"), ["Account", "Group", "User"]);
        assert_eq!(asked("Many__r.Name").len(), 9);
    }

    #[test]
    fn what_cannot_be_described_keeps_no_row_back_but_for_an_object_that_is_not_there() {
        for (status, grade) in [(404, Grade::Refused), (500, Grade::Unclear)] {
            let mut objects = Objects::default();
            objects.insert("Account", account(status));
            let rendering = rendering("Ext__c", "Parent.Ext__c");
            assert_eq!(about(&objects, &rendering)[0].grade, grade);
            assert_eq!(objects.wanted(&rendering), None);
        }
    }
}
