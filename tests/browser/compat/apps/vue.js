// Our own component with v-model; the page can change its properties and take it away.
import { AgentGate } from "@agentgate/vue";
import { createApp, h, reactive, ref } from "vue";

const token = ref("");
const widget = ref(null);
const properties = reactive({ src: `${window.settings.gate}/sdk/v1/agentgate.js`, sitekey: window.settings.sitekey });
Object.assign(window, { token, widget, properties });

createApp({
  setup: () => () =>
    properties.gone
      ? null
      : h("form", { method: "post", action: "/received" }, [
          h(AgentGate, {
            ...properties,
            ref: widget,
            class: "gate",
            modelValue: token.value,
            "onUpdate:modelValue": (value) => {
              token.value = value;
            },
            onToken: (value) => window.told("success", value),
            onError: (error) => window.told("error", error.code),
          }),
          h("button", { type: "submit" }, "Send"),
        ]),
}).mount("#root");
