// begin: send
// As `fetch`; a refusal that says when to come back is waited for, and the request is sent again.
async function send(url, init, retries = 4) {
  for (;;) {
    const answer = await fetch(url, init);
    const seconds = Number(answer.headers.get('retry-after'));
    if (![409, 429, 503].includes(answer.status) || !seconds || retries-- === 0) return answer;
    await new Promise((wake) => setTimeout(wake, seconds * 1000));
  }
}
// end: send
