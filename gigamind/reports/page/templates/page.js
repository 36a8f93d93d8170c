
// A button behind each command copies it.
for (const command of document.querySelectorAll("pre.command")) {
  const button = make("button", { type: "button", className: "copy", text: _("Copy") });
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(command.querySelector("code").textContent);
    button.textContent = _("Copied");
  });
  command.append(button);
}

// A link to a folded section opens it.
function unfold() {
  const section = document.getElementById(location.hash.slice(1));
  const details = section?.querySelector(":scope > details");
  if (details) details.open = true;
}
addEventListener("hashchange", unfold);
unfold();

// Paper has folded sections open.
addEventListener("beforeprint", () => {
  for (const details of document.querySelectorAll("section > details")) details.open = true;
});
