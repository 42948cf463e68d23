"""Signs a message as its sender does at each attempt: sign.py SECRET ID BODY SECONDS... (before or after now).

Or verifies one as its receiver does: sign.py SECRET --verify HEADERS BODY."""

import datetime
import json
import sys

from standardwebhooks import Webhook

webhook = Webhook(sys.argv[1])
if sys.argv[2] == "--verify":
    webhook.verify(sys.argv[4], json.loads(sys.argv[3]))
    print("verified")
else:
    now = datetime.datetime.now(tz=datetime.timezone.utc)
    attempts = []
    for seconds in sys.argv[4:]:
        at = now + datetime.timedelta(seconds=int(seconds))
        signature = webhook.sign(msg_id=sys.argv[2], timestamp=at, data=sys.argv[3])
        attempts.append({
            "webhook-id": sys.argv[2],
            "webhook-timestamp": str(int(at.timestamp())),
            "webhook-signature": signature,
        })
    print(json.dumps(attempts))
