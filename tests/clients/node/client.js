// Sends what it is asked for, by a library as an application sets it up: node client.js SETTING.
//
// One JSON object a line comes in (method, url, account, key, amount), one goes out (status, replayed, or error).

import axios from 'axios';
import axiosRetry, {exponentialDelay, isRetryableError} from 'axios-retry';
import got from 'got';
import {createInterface} from 'node:readline';

function headers({account, key}) {
  const lines = {'x-account': account, 'content-type': 'application/json'};
  return key ? {...lines, 'idempotency-key': key} : lines;
}

const body = ({method, amount}) => (method === 'GET' ? undefined : JSON.stringify({amount}));

const told = (status, lines) => ({status, replayed: lines['idempotent-replayed'] === 'true'});

function byAxios(retry) {
  const client = axios.create();
  axiosRetry(client, retry);
  return async (ask) => {
    try {
      const answer = await client.request({method: ask.method, url: ask.url, headers: headers(ask), data: body(ask)});
      return told(answer.status, answer.headers);
    } catch (error) {
      if (!error.response) throw error;
      return {...told(error.response.status, error.response.headers), error: error.code};
    }
  };
}

function byGot(client) {
  return async (ask) => {
    try {
      const answer = await client(ask.url, {method: ask.method, headers: headers(ask), body: body(ask)});
      return told(answer.statusCode, answer.headers);
    } catch (error) {
      if (!error.response) throw error;
      return {...told(error.response.statusCode, error.response.headers), error: error.code};
    }
  };
}

// begin: axios
// POST too, which is safe with an Idempotency-Key; and a 409 that says when to come back: the first request still runs.
function retryCondition(error) {
  const {status, headers} = error.response ?? {};
  return isRetryableError(error) || (status === 409 && 'retry-after' in headers);
}
// end: axios

const settings = {
  'axios-retry': () => byAxios(undefined),
  'axios-retry-post': () => byAxios({retries: 4, retryCondition, retryDelay: exponentialDelay}),
  got: () => byGot(got),
  'got-post': () =>
    byGot(got.extend({retry: {limit: 4, methods: ['GET', 'PUT', 'POST'], statusCodes: [409, 429, 503]}})),
};

const send = settings[process.argv[2]]();
for await (const line of createInterface({input: process.stdin})) {
  let answer;
  try {
    answer = await send(JSON.parse(line));
  } catch (error) {
    answer = {status: null, replayed: false, error: `${error.name}: ${error.message}`};
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
