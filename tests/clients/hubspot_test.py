"""HubSpot's own client drives the mock and believes it.

The test (tests/it/mock/hubspot/client.rs) serves a mock and says where in AFTERCOMMIT_MOCK_URL.
"""

import datetime
import json
import os
import unittest
import urllib.request

from hubspot import HubSpot
from hubspot.crm.objects import (
    ApiException,
    BatchInputSimplePublicObjectBatchInput,
    BatchInputSimplePublicObjectBatchInputForCreate,
    BatchInputSimplePublicObjectBatchInputUpsert,
    BatchInputSimplePublicObjectId,
    BatchReadInputSimplePublicObjectId,
    PublicObjectSearchRequest,
    SimplePublicObjectInput,
    SimplePublicObjectInputForCreate,
)
from urllib3.exceptions import ProtocolError
from urllib3.util.retry import Retry

URL = os.environ["AFTERCOMMIT_MOCK_URL"]


def control(method, path, body=""):
    """Calls one of the mock's own paths."""
    request = urllib.request.Request(URL + path, data=body.encode() or None, method=method)
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request) as answer:
        return answer.read().decode()


def client(token="pat-na1-mock", **more):
    return HubSpot(access_token=token, host=URL, **more)


def upsert(id, trace=None, id_property="email", **properties):
    given = {"id": id, "idProperty": id_property, "properties": properties}
    if trace:
        given["objectWriteTraceId"] = trace
    return given


def batch(*inputs):
    return BatchInputSimplePublicObjectBatchInputUpsert(inputs=list(inputs))


class HubSpotTest(unittest.TestCase):
    def setUp(self):
        control("POST", "/reset")
        # The client tries nothing twice unless it is told to: what fails here shall be seen.
        self.client = client(retry=Retry(0))
        self.batch = self.client.crm.objects.batch_api
        self.objects = self.client.crm.objects.basic_api

    def dump(self, object_type="contacts"):
        return [record["fields"] for record in json.loads(control("GET", "/dump"))[object_type]]

    def refused(self, call, *arguments, **named):
        with self.assertRaises(ApiException) as caught:
            call(*arguments, **named)
        return caught.exception, json.loads(caught.exception.body)

    # Batches

    def test_a_batch_is_upserted_and_upserted_again(self):
        inputs = [upsert(f"P{n}@Example.com", f"t{n}", email=f"P{n}@Example.com", city="Ulm") for n in range(100)]
        for new in [True, False]:
            answer, status, headers = self.batch.upsert_with_http_info("contacts", batch(*inputs))
            self.assertEqual(status, 200)
            self.assertEqual(answer.status, "COMPLETE")
            self.assertEqual(len(answer.results), 100)
            self.assertIsInstance(answer.completed_at, datetime.datetime)
            first = answer.results[0]
            self.assertEqual((first.new, first.object_write_trace_id), (new, "t0"))
            self.assertEqual(first.properties["email"], "p0@example.com")
            self.assertEqual(first.properties["hs_object_id"], first.id)
            self.assertIn("x-hubspot-ratelimit-daily-remaining", headers)
        self.assertEqual(len(self.dump()), 100)

    def test_a_batch_succeeds_in_part_and_names_what_failed_by_its_trace_id(self):
        given = batch(
            upsert("a@b.co", "t1", email="a@b.co"),
            upsert("not-an-email", "t2", email="not-an-email"),
            upsert("c@b.co", "t3", email="c@b.co", signed_up_on="2026-06-24T10:00:00Z"),
        )
        answer, status, _ = self.batch.upsert_with_http_info("contacts", given)
        self.assertEqual(status, 207)
        self.assertEqual(type(answer).__name__, "BatchResponseSimplePublicUpsertObjectWithErrors")
        self.assertEqual(answer.num_errors, 2)
        self.assertEqual([result.object_write_trace_id for result in answer.results], ["t1"])
        self.assertEqual([error.context["objectWriteTraceId"] for error in answer.errors], [["t2"], ["t3"]])
        self.assertEqual({error.category for error in answer.errors}, {"VALIDATION_ERROR"})
        self.assertIn("INVALID_EMAIL", answer.errors[0].message)
        self.assertIn("is at 10:0:0.0 UTC, not midnight!", answer.errors[1].message)
        self.assertEqual(self.dump(), [{"email": "a@b.co"}])

    def test_without_trace_ids_one_bad_input_refuses_the_batch(self):
        given = batch(upsert("a@b.co", email="a@b.co"), upsert("x", email="x"))
        error, body = self.refused(self.batch.upsert, "contacts", given)
        self.assertEqual(error.status, 400)
        self.assertEqual(body["errors"][0]["code"], "INVALID_EMAIL")
        self.assertEqual(self.dump(), [])

    def test_a_unique_value_of_another_record_refuses_the_batch(self):
        self.batch.upsert("contacts", batch(upsert("a@b.co", "t", email="a@b.co")))
        given = batch(
            upsert("1", "t1", "external_id", email="new@b.co"), upsert("2", "t2", "external_id", email="A@b.co")
        )
        error, body = self.refused(self.batch.upsert, "contacts", given)
        self.assertEqual((error.status, body["category"]), (409, "CONFLICT"))
        self.assertEqual(self.dump(), [{"email": "a@b.co"}])

    def test_records_are_created_read_updated_and_archived_in_batches(self):
        people = [{"properties": {"email": "a@b.co"}}, {"properties": {"external_id": "7", "city": "Ulm"}}]
        created, status, _ = self.batch.create_with_http_info(
            "contacts", BatchInputSimplePublicObjectBatchInputForCreate(inputs=people)
        )
        self.assertEqual(status, 201)
        ids = [result.id for result in created.results]

        changes = [{"id": id, "properties": {"city": "", "phone": "1"}} for id in ids]
        updated = self.batch.update("contacts", BatchInputSimplePublicObjectBatchInput(inputs=changes))
        self.assertEqual([result.id for result in updated.results], ids)

        wanted = BatchReadInputSimplePublicObjectId(
            inputs=[{"id": "7"}, {"id": "8"}],
            id_property="external_id",
            properties=["city", "phone"],
            properties_with_history=[],
        )
        read, status, _ = self.batch.read_with_http_info("contacts", wanted)
        self.assertEqual(status, 207)
        self.assertEqual(read.results[0].properties["phone"], "1")
        self.assertIsNone(read.results[0].properties["city"])
        self.assertEqual(read.errors[0].context["ids"], ["8"])

        archived = BatchInputSimplePublicObjectId(inputs=[{"id": id} for id in ids])
        _, status, _ = self.batch.archive_with_http_info("contacts", archived)
        self.assertEqual(status, 204)
        self.assertEqual(self.dump(), [])

    # Single records

    def test_a_record_is_created_found_changed_and_archived(self):
        created = self.objects.create(
            "companies", SimplePublicObjectInputForCreate(properties={"name": "Ü & Co", "external_id": "a/b c+é"})
        )
        changed = self.objects.update(
            "companies", created.id, SimplePublicObjectInput(properties={"annualrevenue": "12.50"})
        )
        self.assertEqual(changed.id, created.id)
        found = self.objects.get_by_id("companies", created.id, properties=["name", "annualrevenue"])
        self.assertEqual(found.properties["name"], "Ü & Co")
        self.assertEqual(found.properties["annualrevenue"], "12.50")
        found = self.objects.get_by_id("companies", "a/b c+é", id_property="external_id")
        self.assertEqual(found.id, created.id)
        self.assertEqual([record.id for record in self.objects.get_page("companies").results], [created.id])
        self.objects.archive("companies", created.id)
        error, body = self.refused(self.objects.get_by_id, "companies", created.id)
        self.assertEqual((error.status, body["category"]), (404, "OBJECT_NOT_FOUND"))

    def test_all_pages_of_a_list_are_fetched(self):
        for number in range(3):
            inputs = [upsert(f"{number}-{n}", f"t{n}", "external_id") for n in range(100)]
            self.batch.upsert("contacts", batch(*inputs))
        self.assertEqual(len(self.client.crm.contacts.get_all()), 300)

    def test_what_the_mock_does_not_have_is_not_found(self):
        search = PublicObjectSearchRequest(query="a", limit=1, after="", sorts=[], properties=[], filter_groups=[])
        error, _ = self.refused(self.client.crm.objects.search_api.do_search, "contacts", search)
        self.assertEqual(error.status, 404)

    # Properties

    def test_properties_tell_which_are_unique(self):
        properties = self.client.crm.properties.core_api.get_all("contacts").results
        unique = sorted(known.name for known in properties if known.has_unique_value)
        self.assertEqual(unique, ["email", "external_id"])
        checkbox = self.client.crm.properties.core_api.get_by_name("contacts", "newsletter")
        self.assertEqual((checkbox.type, checkbox.field_type), ("bool", "booleancheckbox"))
        self.assertEqual([option.value for option in checkbox.options], ["true", "false"])

    # Access and limits

    def log_in(self):
        return self.client.oauth.tokens_api.create(
            grant_type="refresh_token",
            client_id="mock-client-id",
            client_secret="mock-client-secret",
            refresh_token="mock-refresh-token",
        )

    def test_an_access_token_is_good_until_it_expires(self):
        granted = self.log_in()
        self.assertEqual((granted.token_type, granted.expires_in), ("bearer", 1800))
        objects = client(granted.access_token).crm.objects.basic_api
        self.assertEqual(objects.get_page("contacts").results, [])
        info = self.client.oauth.access_tokens_api.get(granted.access_token)
        self.assertIn("crm.objects.contacts.write", info.scopes)

        control("POST", "/advance?seconds=1807")
        error, body = self.refused(objects.get_page, "contacts")
        self.assertEqual((error.status, body["category"]), (401, "EXPIRED_AUTHENTICATION"))

        objects = client(self.log_in().access_token).crm.objects.basic_api
        objects.get_page("contacts")
        control("POST", "/expire")
        error, body = self.refused(objects.get_page, "contacts")
        self.assertEqual(body["category"], "EXPIRED_AUTHENTICATION")

    def test_a_wrong_token_is_refused(self):
        error, body = self.refused(client("pat-na1-other").crm.objects.basic_api.get_page, "contacts")
        self.assertEqual((error.status, body["category"]), (401, "INVALID_AUTHENTICATION"))

    def test_each_limit_is_refused_by_its_name(self):
        for fault, policy in [
            ("ten-secondly", "TEN_SECONDLY_ROLLING"),
            ("secondly", "SECONDLY"),
            ("daily", "DAILY"),
        ]:
            control("POST", "/faults", f"{fault}:1")
            error, body = self.refused(self.objects.get_page, "contacts")
            self.assertEqual((error.status, body["errorType"], body["policyName"]), (429, "RATE_LIMIT", policy))
        self.assertEqual(self.objects.get_page("contacts").results, [])

    def test_a_client_that_retries_gets_through_a_limit_and_a_failure(self):
        control("POST", "/faults", "secondly:2,fail=503:1")
        retry = Retry(total=5, status_forcelist=(429, 503), backoff_factor=0)
        self.assertEqual(client(retry=retry).crm.objects.basic_api.get_page("contacts").results, [])

    def test_a_missing_scope_is_named(self):
        control("POST", "/faults", "missing-scopes:1")
        error, body = self.refused(self.batch.upsert, "contacts", batch(upsert("a@b.co", email="a@b.co")))
        self.assertEqual(error.status, 403)
        self.assertEqual(body["errors"][0]["context"]["missingScopes"], ["crm.objects.contacts.write"])

    # What goes wrong on the way

    def test_a_batch_is_stored_though_its_answer_is_lost_and_stored_once(self):
        given = batch(upsert("a@b.co", "t", email="a@b.co"))
        control("POST", "/faults", "drop:1")
        with self.assertRaises(ProtocolError):
            self.batch.upsert("contacts", given)
        self.assertEqual(self.dump(), [{"email": "a@b.co"}])
        self.assertFalse(self.batch.upsert("contacts", given).results[0].new)
        self.assertEqual(self.dump(), [{"email": "a@b.co"}])
        journal = json.loads(control("GET", "/journal"))
        self.assertEqual([(entry["status"], entry["fault"]) for entry in journal], [(None, "drop"), (200, None)])

    def test_a_record_is_missing_from_an_answer_that_says_complete(self):
        control("POST", "/faults", "omit:1@email=c@b.co")
        given = batch(upsert("a@b.co", "t1", email="a@b.co"), upsert("c@b.co", "t2", email="c@b.co"))
        answer, status, _ = self.batch.upsert_with_http_info("contacts", given)
        self.assertEqual((status, answer.status), (200, "COMPLETE"))
        self.assertEqual([result.object_write_trace_id for result in answer.results], ["t1"])

    def test_a_page_of_a_proxy_is_no_json(self):
        control("POST", "/faults", "page:1")
        with self.assertRaises(ApiException) as caught:
            self.objects.get_page("contacts")
        self.assertEqual(caught.exception.status, 502)
        self.assertIn("<!DOCTYPE html>", caught.exception.body)


if __name__ == "__main__":
    unittest.main()
