"""Fraud on cards: each transaction is judged by its card's last five minutes.

Run it: ``make demo``, or ``headrace run examples/fraud/pipeline.py`` beside servers
that have the bank's profiles captured.
"""

from __future__ import annotations

import os
from pathlib import Path

from model import REASON, Model
from transactions import Profile, Transaction

from headrace import (
    Pipeline,
    cdc,
    hours,
    kafka,
    milliseconds,
    minutes,
    refire,
    seconds,
    sinks,
    sliding,
    tumbling,
    watermarks,
)

HERE = Path(__file__).parent
MODEL = Model.load(Path(os.environ.get("FRAUD_MODEL", HERE / "model.json")))
LAKE = Path(os.environ.get("FRAUD_LAKE", "lake")).absolute()

fraud = Pipeline("fraud")
transactions = fraud.read(
    kafka("transactions", Transaction, format="avro"),
    # On the way a transaction is overtaken by others, by 300 ms at the most.
    watermark=watermarks.by_partition(milliseconds(300), idle=seconds(5), peek=True),
)
profiles = fraud.table(
    cdc.postgres("bank", "public.profiles", Profile),
    # A change holds all event time until its partition counts as silent again.
    watermark=watermarks.by_partition(seconds(0), idle=milliseconds(300)),
)

# Each transaction once, with the profile that its user had at that time.
once = transactions.dedupe("once", by="transaction_id", within=minutes(10))
known = once.join("profile", profiles, on="user_id")

# The card's own last five minutes, up to and including the transaction.
recent = known.window(
    "recent",
    sliding(minutes(5)),
    by="card",
    transaction_id="last(transaction_id)",
    made_at="last(made_at)",
    user_id="last(user_id)",
    cents="last(cents)",
    merchant="last(merchant)",
    country="last(country)",
    is_declined="last(declined)",
    payments="count(*)",
    spent="coalesce(sum(cents) filter (where not declined), 0)",
    countries="count(distinct country)",
    declines="count_if(declined)",
    tiny="count_if(cents < 300)",
    times_usual="last(cents) / last(usual_cents)",
    abroad="if(last(country) <> last(home_country), 1, 0)",
    tier="case last(risk_tier) when 'low' then 0 when 'middle' then 1 else 2 end",
)
scored = (
    recent.derive(others_spent="spent - if(is_declined, 0, cents)")
    .derive(score=MODEL.trees, model=f"'{MODEL.version}'", reason=REASON)
    .select(
        *("transaction_id", "card", "user_id", "made_at", "cents", "country"),
        *("merchant", "payments", "spent", "countries", "declines", "score", "model"),
        "reason",
    )
)
alerts = scored.where("payments > 10 or score > 0.9")

# What each card spends in five minutes; late transactions correct it. Not all cards
# begin theirs at once, or all panes would come in one batch, and alerts wait for it.
velocity = once.window(
    "velocity",
    tumbling(minutes(5), staggered=True),
    by="card",
    late=refire(minutes(5)),
    payments="count(*)",
    spent="sum(cents)",
)

fraud.write("alerts", alerts, sinks.kafka("fraud-alerts"))
fraud.write("suspects", alerts, sinks.redis("suspects", ttl=hours(24)))
fraud.write("search", alerts, sinks.opensearch("fraud-alerts", key="transaction_id"))
fraud.write("scored", scored, sinks.delta(str(LAKE / "scored")))
fraud.write("late", recent.late, sinks.kafka("late-transactions"))
fraud.write("velocity", velocity, sinks.kafka("card-velocity", key="window_id"))
fraud.write("too-late", velocity.late, sinks.kafka("uncounted-transactions"))
