// The API page's button. Everything else works without a line of script of the shop's own.
const button = document.getElementById("stock");
if (button) {
  const said = document.getElementById("stock-answer");
  const facts = document.getElementById("facts");
  button.addEventListener("click", async () => {
    button.disabled = true;
    said.textContent = "Asking …";
    try {
      const { sitekey } = document.body.dataset;
      const answer = await agentgate.fetch("/api/stock", { method: "POST", sitekey, action: "api" });
      const body = await answer.json();
      if (!answer.ok) throw new Error(`${body.error}: ${body.message}`);
      said.textContent = Object.entries(body.stock).map(([what, count]) => `${what}: ${count}`).join(", ");
      show(facts, { Outcome: "accepted", Decision: body.seen.decisionId, "Request ID": body.seen.requestId });
    } catch (problem) {
      said.textContent = `It did not work: ${problem.code ?? ""} ${problem.message}`;
    }
    button.disabled = false;
  });
}

function show(element, rows) {
  const list = document.createElement("dl");
  for (const [name, value] of Object.entries(rows)) {
    list.append(Object.assign(document.createElement("dt"), { textContent: name }));
    list.append(Object.assign(document.createElement("dd"), { textContent: value }));
  }
  element.replaceChildren(list);
}
