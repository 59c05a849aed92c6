"""Packages that put a widget into a page: how to mount each, and how to configure the address of the script."""

from dataclasses import dataclass
from typing import Literal

Service = Literal["turnstile", "recaptcha", "hcaptcha"]
# How a package learns the address: from an option, from a script tag before it, or from its own text, in which the
# vendor's host is replaced when the page's script is bundled.
Way = Literal["option", "script tag", "host replaced"]

FIELDS = {"turnstile": "cf-turnstile-response", "recaptcha": "g-recaptcha-response", "hcaptcha": "h-captcha-response"}
SCRIPTS = {"turnstile": "/turnstile/v0/api.js", "recaptcha": "/recaptcha/api.js", "hcaptcha": "/1/api.js"}
VERIFY = {
    "turnstile": "/turnstile/v0/siteverify",
    "recaptcha": "/recaptcha/api/siteverify",
    "hcaptcha": "/siteverify",
}


@dataclass(frozen=True)
class BrowserPackage:
    """One row: `program` is what a page of the site's has, with `sitekey`, `gate` and `passed(token)` at hand."""

    name: str
    service: Service
    framework: Literal["React", "Vue", "Svelte", "Solid", "Angular", "AngularJS", "none"]
    way: Way
    change: str
    program: str
    # Whether the widget is inside the form, so that the form is sent with the token.
    in_form: bool = True
    # Attributes of the script tag before the package.
    tag: str = ""


def react(imports: str, element: str) -> str:
    """A form with one element."""
    return f"""
        import {{ createRoot }} from "react-dom/client";
        {imports}
        createRoot(root).render(<form>{element}</form>);
    """


def vue(imports: str, properties: str, component: str = "Widget", setup: str = "") -> str:
    """A form with one component."""
    return f"""
        import {{ createApp, h }} from "vue";
        {imports}
        createApp({{ render: () => h("form", h({component}, {properties})) }}){setup}.mount(root);
    """


def angular(imports: str, module: str, template: str, providers: str = "") -> str:
    """Return the program of an Angular component with a form, compiled in the browser."""
    return f"""
        import "zone.js";
        import "@angular/compiler";
        import {{ Component }} from "@angular/core";
        import {{ bootstrapApplication }} from "@angular/platform-browser";
        import {{ provideZoneChangeDetection, importProvidersFrom }} from "@angular/core";
        {imports}
        const App = Component({{ selector: "#root", imports: [{module}], template: `<form>{template}</form>` }})(
          class {{ sitekey = sitekey; passed(token) {{ if (token) passed(token); }} }},
        );
        bootstrapApplication(App, {{ providers: [provideZoneChangeDetection(), {providers}] }});
    """


REPLACED = "the vendor's host in the bundle"
TAG = "a script tag before it; it takes the global that is there"

PACKAGES = [
    BrowserPackage(
        "@marsidev/react-turnstile",
        "turnstile",
        "React",
        "script tag",
        'a script tag with `id="cf-turnstile-script"`',
        react(
            'import { Turnstile } from "@marsidev/react-turnstile";',
            "<Turnstile siteKey={sitekey} onSuccess={passed} />",
        ),
        tag="id=cf-turnstile-script",
    ),
    BrowserPackage(
        "react-turnstile",
        "turnstile",
        "React",
        "script tag",
        TAG,
        react('import Turnstile from "react-turnstile";', "<Turnstile sitekey={sitekey} onVerify={passed} />"),
    ),
    BrowserPackage(
        "react-cloudflare-turnstile",
        "turnstile",
        "React",
        "host replaced",
        REPLACED,
        react(
            'import Turnstile from "react-cloudflare-turnstile";',
            "<Turnstile turnstileSiteKey={sitekey} callback={passed} />",
        ),
    ),
    BrowserPackage(
        "next-turnstile",
        "turnstile",
        "React",
        "host replaced",
        REPLACED,
        react('import { Turnstile } from "next-turnstile";', "<Turnstile siteKey={sitekey} onVerify={passed} />"),
    ),
    BrowserPackage(
        "vue-turnstile",
        "turnstile",
        "Vue",
        "script tag",
        TAG,
        vue(
            'import Widget from "vue-turnstile";', '{ siteKey: sitekey, modelValue: "", "onUpdate:modelValue": passed }'
        ),
    ),
    BrowserPackage(
        "cfturnstile-vue3",
        "turnstile",
        "Vue",
        "host replaced",
        REPLACED,
        vue('import Widget from "cfturnstile-vue3";', "{ sitekey, onCallback: passed }"),
    ),
    BrowserPackage(
        "svelte-turnstile",
        "turnstile",
        "Svelte",
        "host replaced",
        REPLACED,
        """
        import { mount } from "svelte";
        import { Turnstile } from "svelte-turnstile";
        const form = root.appendChild(document.createElement("form"));
        const events = { callback: (event) => passed(event.detail.token) };
        mount(Turnstile, { target: form, props: { siteKey: sitekey }, events });
        """,
    ),
    BrowserPackage(
        "@nerimity/solid-turnstile",
        "turnstile",
        "Solid",
        "host replaced",
        REPLACED,
        """
        import { createComponent, render } from "solid-js/web";
        import { Turnstile } from "@nerimity/solid-turnstile";
        const form = root.appendChild(document.createElement("form"));
        render(() => createComponent(Turnstile, { sitekey, onVerify: passed }), form);
        """,
    ),
    BrowserPackage(
        "ngx-turnstile",
        "turnstile",
        "Angular",
        "host replaced",
        REPLACED,
        angular(
            'import { NgxTurnstileModule } from "ngx-turnstile";',
            "NgxTurnstileModule",
            '<ngx-turnstile [siteKey]="sitekey" (resolved)="passed($event)"></ngx-turnstile>',
        ),
    ),
    BrowserPackage(
        "react-google-recaptcha",
        "recaptcha",
        "React",
        "script tag",
        TAG,
        react('import ReCAPTCHA from "react-google-recaptcha";', "<ReCAPTCHA sitekey={sitekey} onChange={passed} />"),
    ),
    BrowserPackage(
        "react-google-recaptcha-v3",
        "recaptcha",
        "React",
        "script tag",
        'a script tag with `id="google-recaptcha-v3"`',
        react(
            'import { GoogleReCaptchaProvider, GoogleReCaptcha } from "react-google-recaptcha-v3";',
            "<GoogleReCaptchaProvider reCaptchaKey={sitekey}><GoogleReCaptcha action='submit' onVerify={passed} />"
            "</GoogleReCaptchaProvider>",
        ),
        in_form=False,
        tag="id=google-recaptcha-v3",
    ),
    BrowserPackage(
        "reaptcha",
        "recaptcha",
        "React",
        "script tag",
        "`inject={false}`, and a script tag",
        react('import Reaptcha from "reaptcha";', "<Reaptcha sitekey={sitekey} onVerify={passed} inject={false} />"),
    ),
    BrowserPackage(
        "react-recaptcha",
        "recaptcha",
        "React",
        "script tag",
        "the script tag that its documentation asks for",
        react(
            'import Recaptcha from "react-recaptcha";',
            "<Recaptcha sitekey={sitekey} render='explicit' verifyCallback={passed} onloadCallback={() => {}} />",
        ),
    ),
    BrowserPackage(
        "react-recaptcha-v3",
        "recaptcha",
        "React",
        "host replaced",
        REPLACED,
        react(
            """
            import { loadReCaptcha, ReCaptcha } from "react-recaptcha-v3";
            loadReCaptcha(sitekey);
            """,
            "<ReCaptcha sitekey={sitekey} action='submit' verifyCallback={passed} />",
        ),
        in_form=False,
    ),
    BrowserPackage(
        "react-google-invisible-recaptcha",
        "recaptcha",
        "React",
        "host replaced",
        REPLACED,
        react(
            """
            import Recaptcha from "react-google-invisible-recaptcha";
            let widget;
            """,
            "<Recaptcha ref={(it) => { widget = it; }} sitekey={sitekey} onLoaded={() => widget.execute()}"
            " onResolved={() => passed(widget.getResponse())} />",
        ),
    ),
    BrowserPackage(
        "react-grecaptcha",
        "recaptcha",
        "React",
        "host replaced",
        REPLACED,
        react(
            'import Recaptcha from "react-grecaptcha";',
            "<Recaptcha sitekey={sitekey} callback={passed} expiredCallback={() => {}} />",
        ),
    ),
    BrowserPackage(
        "react-recaptcha-google",
        "recaptcha",
        "React",
        "host replaced",
        REPLACED,
        react(
            """
            import { loadReCaptcha, ReCaptcha } from "react-recaptcha-google";
            loadReCaptcha();
            """,
            "<ReCaptcha sitekey={sitekey} render='explicit' onloadCallback={() => {}} verifyCallback={passed} />",
        ),
    ),
    BrowserPackage(
        "@google-recaptcha/react",
        "recaptcha",
        "React",
        "script tag",
        TAG,
        react(
            'import { GoogleReCaptchaCheckbox, GoogleReCaptchaProvider } from "@google-recaptcha/react";',
            "<GoogleReCaptchaProvider type='v2-checkbox' siteKey={sitekey}>"
            "<GoogleReCaptchaCheckbox onChange={passed} /></GoogleReCaptchaProvider>",
        ),
    ),
    BrowserPackage(
        "recaptcha-v3",
        "recaptcha",
        "none",
        "option",
        '`customUrl: "https://gate.example/recaptcha/api.js"`',
        """
        import { load } from "recaptcha-v3";
        load(sitekey, { customUrl: gate + "/recaptcha/api.js" }).then((it) => it.execute("submit")).then(passed);
        """,
        in_form=False,
    ),
    BrowserPackage(
        "vue-recaptcha-v3",
        "recaptcha",
        "Vue",
        "option",
        '`loaderOptions: {customUrl: "https://gate.example/recaptcha/api.js"}`',
        vue(
            """
            import { VueReCaptcha, useReCaptcha } from "vue-recaptcha-v3";
            const Widget = {
              setup() {
                const { executeRecaptcha, recaptchaLoaded } = useReCaptcha();
                recaptchaLoaded().then(() => executeRecaptcha("submit")).then(passed);
                return () => null;
              },
            };
            const options = { siteKey: sitekey, loaderOptions: { customUrl: gate + "/recaptcha/api.js" } };
            """,
            "{}",
            setup=".use(VueReCaptcha, options)",
        ),
        in_form=False,
    ),
    BrowserPackage(
        "vue-recaptcha",
        "recaptcha",
        "Vue",
        "script tag",
        "`loadRecaptchaScript: false`, and a script tag with `onload=vueRecaptchaApiLoaded`",
        vue(
            'import { VueRecaptcha as Widget } from "vue-recaptcha";',
            "{ sitekey, loadRecaptchaScript: false, onVerify: passed }",
        ),
    ),
    BrowserPackage(
        "vue3-recaptcha2",
        "recaptcha",
        "Vue",
        "host replaced",
        REPLACED,
        vue('import Widget from "vue3-recaptcha2";', "{ sitekey, size: 'normal', theme: 'light', onVerify: passed }"),
    ),
    BrowserPackage(
        "vue3-recaptcha-v2",
        "recaptcha",
        "Vue",
        "host replaced",
        REPLACED,
        vue(
            'import { install, RecaptchaV2 } from "vue3-recaptcha-v2";',
            "{ onLoadCallback: passed }",
            component="RecaptchaV2",
            setup=".use(install, { sitekey })",
        ),
    ),
    BrowserPackage(
        "svelte-recaptcha-v2",
        "recaptcha",
        "Svelte",
        "host replaced",
        REPLACED,
        """
        import { mount } from "svelte";
        import { Recaptcha } from "svelte-recaptcha-v2";
        const form = root.appendChild(document.createElement("form"));
        const events = { ready: () => grecaptcha.execute(), success: (event) => passed(event.detail.token) };
        mount(Recaptcha, { target: form, props: { sitekey, size: "invisible" }, events });
        """,
    ),
    BrowserPackage(
        "ng-recaptcha-2",
        "recaptcha",
        "Angular",
        "option",
        "`RECAPTCHA_LOADER_OPTIONS` with `onBeforeLoad`",
        angular(
            'import { RecaptchaModule, RECAPTCHA_LOADER_OPTIONS } from "ng-recaptcha-2";',
            "RecaptchaModule",
            '<re-captcha [siteKey]="sitekey" (resolved)="passed($event)"></re-captcha>',
            "{ provide: RECAPTCHA_LOADER_OPTIONS, useValue:"
            " { onBeforeLoad: () => ({ url: new URL(gate + '/recaptcha/api.js') }) } }",
        ),
    ),
    BrowserPackage(
        "angular-recaptcha",
        "recaptcha",
        "AngularJS",
        "host replaced",
        REPLACED,
        """
        import angular from "angular";
        import "angular-recaptcha";
        const shared = (scope) => Object.assign(scope, { sitekey, passed });
        angular.module("shop", ["vcRecaptcha"]).run(["$rootScope", shared]);
        root.innerHTML = '<form><div vc-recaptcha key="sitekey" on-success="passed(response)"></div></form>';
        angular.bootstrap(root, ["shop"]);
        """,
    ),
    BrowserPackage(
        "@hcaptcha/react-hcaptcha",
        "hcaptcha",
        "React",
        "option",
        '`scriptSource="https://gate.example/1/api.js"`',
        react(
            'import HCaptcha from "@hcaptcha/react-hcaptcha";',
            "<HCaptcha sentry={false} scriptSource={gate + '/1/api.js'} sitekey={sitekey} onVerify={passed} />",
        ),
    ),
    BrowserPackage(
        "@hcaptcha/vue3-hcaptcha",
        "hcaptcha",
        "Vue",
        "option",
        '`apiEndpoint="https://gate.example/1/api.js"`',
        vue(
            'import Widget from "@hcaptcha/vue3-hcaptcha";',
            "{ sitekey, sentry: false, apiEndpoint: gate + '/1/api.js', onVerify: passed }",
        ),
    ),
    BrowserPackage(
        "@hcaptcha/loader",
        "hcaptcha",
        "none",
        "option",
        '`scriptSource: "https://gate.example/1/api.js"`',
        """
        import { hCaptchaLoader } from "@hcaptcha/loader";
        hCaptchaLoader({ scriptSource: gate + "/1/api.js", sentry: false })
          .then(() => window.hcaptcha.render("root", { sitekey, size: "invisible" }))
          .then((widget) => window.hcaptcha.execute(widget, { async: true }))
          .then(({ response }) => passed(response));
        """,
        in_form=False,
    ),
    BrowserPackage(
        "@hcaptcha/vanilla-hcaptcha",
        "hcaptcha",
        "none",
        "option",
        '`jsapi="https://gate.example/1/api.js"`',
        """
        import "@hcaptcha/vanilla-hcaptcha";
        const element = document.createElement("h-captcha");
        element.addEventListener("verified", (event) => passed(event.token));
        for (const [name, value] of Object.entries({ sitekey, jsapi: gate + "/1/api.js", sentry: "false" }))
          element.setAttribute(name, value);
        root.appendChild(document.createElement("form")).append(element);
        """,
    ),
    BrowserPackage(
        "svelte-hcaptcha",
        "hcaptcha",
        "Svelte",
        "option",
        '`apihost="https://gate.example/1/api.js"`',
        """
        import { mount } from "svelte";
        import HCaptcha from "svelte-hcaptcha";
        const form = root.appendChild(document.createElement("form"));
        const props = { sitekey, apihost: gate + "/1/api.js" };
        mount(HCaptcha, { target: form, props, events: { success: (e) => passed(e.detail.token) } });
        """,
    ),
    BrowserPackage(
        "ng-hcaptcha",
        "hcaptcha",
        "Angular",
        "host replaced",
        REPLACED,
        angular(
            'import { NgHcaptchaModule } from "ng-hcaptcha";',
            "NgHcaptchaModule",
            '<ng-hcaptcha [siteKey]="sitekey" (verify)="passed($event)"></ng-hcaptcha>',
            "importProvidersFrom(NgHcaptchaModule.forRoot({ languageCode: 'en' }))",
        ),
    ),
]
