"""Sends what it is asked for, by a library as an application sets it up: client.py SETTING.

One JSON object a line comes in (method, url, account, key, amount), one goes out (status, replayed, or error).
"""

import functools
import json
import random
import sys

import botocore.config
import botocore.exceptions
import botocore.session
import requests
import stripe
import urllib3
from requests.adapters import HTTPAdapter
from urllib3.util.retry import Retry


def headers(ask):
    lines = {"x-account": ask["account"], "content-type": "application/json"}
    if ask["key"]:
        lines["idempotency-key"] = ask["key"]
    return lines


def body(ask):
    return None if ask["method"] == "GET" else json.dumps({"amount": ask["amount"]}, separators=(",", ":"))


def told(status, lines):
    return {"status": status, "replayed": lines.get("idempotent-replayed") == "true"}


def by_requests(session, ask):
    response = session.request(ask["method"], ask["url"], headers=headers(ask), data=body(ask))
    return told(response.status_code, response.headers)


def requests_as_it_is():
    return functools.partial(by_requests, requests.Session())


def requests_with_retry():
    retry = Retry(total=4, backoff_factor=0.5, allowed_methods=None, status_forcelist=[409, 429, 503], raise_on_status=False)
    session = requests.Session()
    session.mount("http://", HTTPAdapter(max_retries=retry))
    return functools.partial(by_requests, session)


def urllib3_as_it_is():
    pool = urllib3.PoolManager()

    def send(ask):
        response = pool.request(ask["method"], ask["url"], headers=headers(ask), body=body(ask))
        return told(response.status, response.headers)

    return send


def stripe_as_it_is():
    def send(ask):
        stripe.api_key = "sk_test_" + ask["account"]
        # It adds the rest of the path itself.
        stripe.api_base = ask["url"].partition("/v1/")[0]
        try:
            if ask["method"] == "GET":
                intent = stripe.PaymentIntent.retrieve("pi_1")
            else:
                intent = stripe.PaymentIntent.create(amount=ask["amount"], currency="eur", idempotency_key=ask["key"])
            return told(intent.last_response.code, intent.last_response.headers)
        except stripe.StripeError as error:
            return {"status": error.http_status, "replayed": False, "error": type(error).__name__}

    return send


# It keeps what it has read of Amazon's services.
SESSION = botocore.session.get_session()


@functools.cache
def aws(url, mode):
    return SESSION.create_client(
        "lambda",
        region_name="eu-west-1",
        endpoint_url=url,
        aws_access_key_id="key",
        aws_secret_access_key="secret",
        config=botocore.config.Config(retries={"mode": mode}),
    )


def by_botocore(mode, ask):
    client = aws(ask["url"].partition("/20")[0], mode)

    def identify(request, **_):
        for name, value in headers(ask).items():
            del request.headers[name]
            request.headers[name] = value

    client.meta.events.register("before-sign.lambda", identify, unique_id="identify")
    try:
        if ask["method"] == "GET":
            answer = client.get_account_settings()
        else:
            answer = client.invoke(FunctionName="f", Payload=body(ask))
        meta = answer["ResponseMetadata"]
        return told(meta["HTTPStatusCode"], meta["HTTPHeaders"])
    except botocore.exceptions.ClientError as error:
        status = error.response["ResponseMetadata"]["HTTPStatusCode"]
        return {"status": status, "replayed": False, "error": error.response["Error"]["Code"]}
    finally:
        client.meta.events.unregister("before-sign.lambda", unique_id="identify")


SETTINGS = {
    "requests": requests_as_it_is,
    "requests-retry": requests_with_retry,
    "urllib3": urllib3_as_it_is,
    "stripe": stripe_as_it_is,
    "botocore-legacy": lambda: functools.partial(by_botocore, "legacy"),
    "botocore-standard": lambda: functools.partial(by_botocore, "standard"),
    "botocore-adaptive": lambda: functools.partial(by_botocore, "adaptive"),
}

# botocore draws its pauses; the same ones each time.
random.seed(1)
send = SETTINGS[sys.argv[1]]()
for line in sys.stdin:
    try:
        answer = send(json.loads(line))
    except (requests.RequestException, urllib3.exceptions.HTTPError, botocore.exceptions.BotoCoreError) as error:
        answer = {"status": None, "replayed": False, "error": f"{type(error).__name__}: {error}"}
    print(json.dumps(answer), flush=True)
