// The express application of `make bench-peers`: it executes charges, and with the argument `idempotent` has
// `express-idempotency` before them, as its README sets it up. The first line that it says is where it listens.
"use strict";

const express = require("express");
const { idempotency, getSharedIdempotencyService } = require("express-idempotency");

const guarded = process.argv[2] === "idempotent";
const executions = new Map();
const app = express();
app.use(express.json());

if (guarded) {
  app.use(idempotency());
}

// First the effect, then the time that the rest takes, then the answer.
app.post("/charges", (request, response) => {
  if (guarded && getSharedIdempotencyService().isHit(request)) {
    return;
  }
  const { charge, amount, hold } = request.body;
  const number = (executions.get(charge) ?? 0) + 1;
  executions.set(charge, number);
  const answer = () =>
    response
      .status(201)
      .set("location", `/charges/${charge}/${number}`)
      .set("x-charge-number", String(number))
      .send({ charge, number, amount });
  if (hold > 0) {
    setTimeout(answer, hold);
  } else {
    answer();
  }
});

// How often a charge was executed.
app.get("/executions/:charge", (request, response) => {
  response.type("text").send(String(executions.get(request.params.charge) ?? 0));
});

app.get("/session", (request, response) => {
  response.type("text").send("none");
});

const server = app.listen(0, "127.0.0.1", () => {
  console.log(`127.0.0.1:${server.address().port}`);
});
