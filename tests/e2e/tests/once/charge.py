"""Makes a charge as an application does, with the client of Stripe: charge.py URL RETRIES."""

import json
import sys

import stripe

stripe.api_key = "sk_test_once"
stripe.api_base = sys.argv[1]
stripe.max_network_retries = int(sys.argv[2])

try:
    intent = stripe.PaymentIntent.create(amount=2000, currency="eur")
    replayed = intent.last_response.headers.get("idempotent-replayed")
    print(json.dumps({"id": intent.id, "replayed": replayed}))
except stripe.StripeError as error:
    print(json.dumps({"error": type(error).__name__, "status": error.http_status, "body": str(error.http_body)}))
