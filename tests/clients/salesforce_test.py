"""simple_salesforce, a client that knows nothing of us, drives the mock Salesforce org.

MOCK_URL says where it listens, KEYS names a folder with private.pem, whose public half the mock was given.
"""

import json
import os
import unittest
from pathlib import Path
from urllib.parse import quote, urlsplit

import requests
from simple_salesforce import Salesforce
from simple_salesforce.exceptions import (
    SalesforceAuthenticationFailed,
    SalesforceMalformedRequest,
    SalesforceMoreThanOneRecord,
    SalesforceResourceNotFound,
)

MOCK = os.environ["MOCK_URL"]
KEY = Path(os.environ["KEYS"], "private.pem").read_text()


class ToMock(requests.Session):
    """The client insists on https and on the vendor's hosts; this sends all of it to the mock."""

    trust_env = False

    def request(self, method, url, *args, **kwargs):
        parts = urlsplit(url)
        query = f"?{parts.query}" if parts.query else ""
        return super().request(method, MOCK + parts.path + query, *args, **kwargs)


def control(method, path, body=None):
    answer = ToMock().request(method, MOCK + path, data=body)
    answer.raise_for_status()
    return answer


def by_secret(app="mock-client-id", secret="mock-client-secret"):
    return Salesforce(consumer_key=app, consumer_secret=secret, domain="acme.my", session=ToMock())


def by_key(key=KEY, app="mock-client-id"):
    return Salesforce(username="relay@example.com", consumer_key=app, privatekey=key, session=ToMock())


class SalesforceTest(unittest.TestCase):
    def setUp(self):
        control("POST", "/reset")

    def test_it_logs_in_by_secret_and_by_key(self):
        for client in by_secret(), by_key():
            self.assertEqual(client.sf_instance, urlsplit(MOCK).netloc)
            self.assertEqual(client.limits()["DailyApiRequests"]["Max"], 15000)
            self.assertGreater(client.api_usage["api-usage"].used, 0)

    def test_a_stranger_is_told_that_he_is_one(self):
        with self.assertRaises(SalesforceAuthenticationFailed) as failed:
            by_key(Path(os.environ["KEYS"], "stranger.pem").read_text())
        self.assertEqual(failed.exception.code, "invalid_grant")
        strangers = {
            "invalid_client": lambda: by_secret(secret="mistyped"),
            "invalid_client_id": lambda: by_secret(app="mistyped"),
        }
        for code, log_in in strangers.items():
            with self.assertRaises(SalesforceAuthenticationFailed) as failed:
                log_in()
            self.assertEqual(failed.exception.code, code)
        with self.assertRaises(SalesforceAuthenticationFailed):
            by_key(app="mistyped")

    def test_an_upsert_creates_then_updates(self):
        account = by_secret().Account
        self.assertEqual(account.upsert("Ext__c/a-1", {"Name": "Ada"}), 201)
        self.assertEqual(account.upsert("Ext__c/a-1", {"Name": "Ada L."}), 200)
        self.assertEqual(account.get_by_custom_id("Ext__c", "A-1")["Name"], "Ada L.")
        record = account.get_by_custom_id("Ext__c", "a-1")["Id"]
        self.assertEqual(account.update(record, {"Phone": "1"}), 204)
        self.assertEqual(account.delete(record), 204)
        with self.assertRaises(SalesforceResourceNotFound):
            account.get(record)

    def test_odd_external_ids_survive(self):
        account = by_secret().Account
        for odd in "a/b", "a b", "a+b", "50%", "Ünïcode", "a?b#c", "a&b=c":
            self.assertEqual(account.upsert(f"Ext__c/{quote(odd, safe='')}", {"Name": odd}), 201, odd)
        names = {record["fields"]["Ext__c"] for record in control("GET", "/dump").json()["Account"]}
        self.assertEqual(names, {"a/b", "a b", "a+b", "50%", "Ünïcode", "a?b#c", "a&b=c"})

    def test_refusals_arrive_as_what_they_are(self):
        client = by_secret()
        with self.assertRaises(SalesforceMalformedRequest) as refused:
            client.Account.create({"Phone": "1"})
        self.assertEqual(refused.exception.content[0]["errorCode"], "REQUIRED_FIELD_MISSING")
        for _ in range(2):
            client.Account.create({"Name": "x", "Legacy_Id__c": "L"})
        with self.assertRaises(SalesforceMoreThanOneRecord):
            client.Account.upsert("Legacy_Id__c/L", {"Name": "y"})

    def test_a_collection_answers_for_each_record(self):
        records = [{"attributes": {"type": "Account"}, "Ext__c": str(n), "Name": f"n{n}"} for n in range(3)]
        del records[1]["Name"]
        path = "composite/sobjects/Account/Ext__c"
        body = json.dumps({"allOrNone": False, "records": records})
        told = by_secret().restful(path, method="PATCH", data=body)
        self.assertEqual([one["success"] for one in told], [True, False, True])
        self.assertEqual(told[1]["errors"][0]["statusCode"], "REQUIRED_FIELD_MISSING")

    def test_bulk_goes_from_upload_to_results(self):
        control("POST", "/faults", "unable-to-lock-row:1@Ext__c=7")
        bulk = by_secret().bulk2.Account
        records = [{"Ext__c": str(n), "Name": f'n"{n}, é'} for n in range(250)]
        (done,) = bulk.upsert(records=records, external_id_field="Ext__c", wait=0)
        self.assertEqual((done["numberRecordsProcessed"], done["numberRecordsFailed"]), (250, 1))
        results = bulk.get_all_ingest_records(done["job_id"])
        counts = {name: len(rows) for name, rows in results.items()}
        self.assertEqual(counts, {"successfulRecords": 249, "failedRecords": 1, "unprocessedRecords": 0})
        self.assertTrue(results["failedRecords"][0]["sf__Error"].startswith("UNABLE_TO_LOCK_ROW:"))
        self.assertEqual(results["successfulRecords"][0]["Name"], 'n"0, é')

    def test_an_expired_token_is_renewed_by_the_client(self):
        client = by_secret()
        old = client.session_id
        control("POST", "/expire")
        self.assertEqual(client.Account.upsert("Ext__c/a-1", {"Name": "x"}), 201)
        self.assertNotEqual(client.session_id, old)

    def test_a_commit_without_an_answer_leaves_one_record(self):
        account = by_secret().Account
        control("POST", "/faults", "drop:1@method=PATCH")
        with self.assertRaises(requests.ConnectionError):
            account.upsert("Ext__c/a-1", {"Name": "x"})
        self.assertEqual(account.upsert("Ext__c/a-1", {"Name": "x"}), 200)

    def test_a_describe_tells_the_external_ids(self):
        fields = by_secret().Account.describe()["fields"]
        unique = [field["name"] for field in fields if field["externalId"] and field["unique"]]
        self.assertEqual(unique, ["Ext__c"])


if __name__ == "__main__":
    unittest.main()
