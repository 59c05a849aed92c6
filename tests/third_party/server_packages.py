"""Packages that verify a token on a site's server: how to configure the address of each, and one call of it."""

from dataclasses import dataclass
from textwrap import dedent
from typing import Literal

from tests.third_party.browser_packages import Service

Language = Literal["Python", "Node.js", "PHP", "Ruby"]


@dataclass(frozen=True)
class ServerPackage:
    """One row. `program` has `verify(token)`, and is given `url` (verifies), `domain` (TLS), `secret` and `sitekey`."""

    name: str
    service: Service
    language: Language
    change: str
    program: str
    # Knows its vendor's host alone, so that the server has to resolve that name to the service.
    by_name: bool = False


NAME = "the vendor's name resolved to the service, and a certificate for it"
DJANGO = """
    import django
    from django.conf import settings
    settings.configure(SECRET_KEY="x", INSTALLED_APPS=[%s], TEMPLATES=[
        {"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True}], USE_TZ=True, **given)
    django.setup()
    from django import forms
"""


def django_form(application: str, given: str, imports: str, field: str, response: str) -> str:
    """A Django form with one field, sent with a token."""
    return f"""
    given = {given}
    {DJANGO % repr(application)}
    {imports}
    class Form(forms.Form):
        captcha = {field}
    def verify(token):
        return Form({{"{response}": token}}).is_valid()
    """


def flask(body: str) -> str:
    """A view that asks the package."""
    return f"""
    from flask import Flask, request
    app = Flask("shop")
    app.config["SECRET_KEY"] = "x"
    {body}
    @app.post("/")
    def view():
        return str(bool(asked()))
    def verify(token):
        fields = ("cf-turnstile-response", "g-recaptcha-response", "h-captcha-response")
        return app.test_client().post("/", data=dict.fromkeys(fields, token)).text == "True"
    """


PYTHON = [
    ServerPackage(
        "django-recaptcha",
        "recaptcha",
        "Python",
        '`RECAPTCHA_DOMAIN = "gate.example"`',
        django_form(
            "django_recaptcha",
            "dict(RECAPTCHA_DOMAIN=domain, RECAPTCHA_PUBLIC_KEY=sitekey, RECAPTCHA_PRIVATE_KEY=secret)",
            "from django_recaptcha.fields import ReCaptchaField",
            "ReCaptchaField()",
            "g-recaptcha-response",
        ),
    ),
    ServerPackage(
        "django-hcaptcha",
        "hcaptcha",
        "Python",
        "`HCAPTCHA_VERIFY_URL`, `HCAPTCHA_JS_API_URL`",
        django_form(
            "hcaptcha",
            "dict(HCAPTCHA_VERIFY_URL=url, HCAPTCHA_SITEKEY=sitekey, HCAPTCHA_SECRET=secret)",
            "from hcaptcha.fields import hCaptchaField",
            "hCaptchaField()",
            "h-captcha-response",
        ),
    ),
    ServerPackage(
        "django-hcaptcha-field",
        "hcaptcha",
        "Python",
        "`HCAPTCHA_VERIFY_URL`, `HCAPTCHA_JS_API_URL`",
        django_form(
            "hcaptcha_field",
            "dict(HCAPTCHA_VERIFY_URL=url, HCAPTCHA_SITEKEY=sitekey, HCAPTCHA_SECRET=secret)",
            "from hcaptcha_field import hCaptchaField",
            "hCaptchaField()",
            "h-captcha-response",
        ),
    ),
    ServerPackage(
        "django-turnstile",
        "turnstile",
        "Python",
        "`TURNSTILE_VERIFY_URL`, `TURNSTILE_JS_API_URL`",
        django_form(
            "turnstile",
            "dict(TURNSTILE_VERIFY_URL=url, TURNSTILE_SITEKEY=sitekey, TURNSTILE_SECRET=secret)",
            "from turnstile.fields import TurnstileField",
            "TurnstileField()",
            "cf-turnstile-response",
        ),
    ),
    ServerPackage(
        "django-cf-turnstile",
        "turnstile",
        "Python",
        NAME,
        django_form(
            "django_cf_turnstile",
            "dict(CF_TURNSTILE_SITE_KEY=sitekey, CF_TURNSTILE_SECRET_KEY=secret)",
            "from django_cf_turnstile.fields import TurnstileCaptchaField",
            "TurnstileCaptchaField()",
            "cf-turnstile-response",
        ),
        by_name=True,
    ),
    ServerPackage(
        "drf-recaptcha",
        "recaptcha",
        "Python",
        '`DRF_RECAPTCHA_DOMAIN = "gate.example"`, and its field for version 3',
        f"""
    given = dict(DRF_RECAPTCHA_DOMAIN=domain, DRF_RECAPTCHA_SECRET_KEY=secret)
    {DJANGO % repr("drf_recaptcha")}
    from django.test import RequestFactory
    from drf_recaptcha.fields import ReCaptchaV3Field
    from rest_framework import serializers
    class Form(serializers.Serializer):
        captcha = ReCaptchaV3Field(action="signup", required_score=0.5)
    def verify(token):
        return Form(data={{"captcha": token}}, context={{"request": RequestFactory().post("/")}}).is_valid()
    """,
    ),
    ServerPackage(
        "drf-hcaptcha",
        "hcaptcha",
        "Python",
        '`DRF_HCAPTCHA_DOMAIN = "gate.example"`',
        f"""
    given = dict(DRF_HCAPTCHA_DOMAIN=domain, DRF_HCAPTCHA_SECRET_KEY=secret)
    {DJANGO % repr("drf_hcaptcha")}
    from django.test import RequestFactory
    from drf_hcaptcha.fields import HCaptchaV2Field
    from rest_framework import serializers
    class Form(serializers.Serializer):
        captcha = HCaptchaV2Field()
    def verify(token):
        return Form(data={{"captcha": token}}, context={{"request": RequestFactory().post("/")}}).is_valid()
    """,
    ),
    ServerPackage(
        "Flask-WTF",
        "recaptcha",
        "Python",
        "`RECAPTCHA_VERIFY_SERVER`, `RECAPTCHA_SCRIPT`",
        flask(
            """
    from flask_wtf import FlaskForm, RecaptchaField
    app.config.update(RECAPTCHA_VERIFY_SERVER=url, RECAPTCHA_PUBLIC_KEY=sitekey, RECAPTCHA_PRIVATE_KEY=secret)
    app.config["WTF_CSRF_ENABLED"] = False
    class Form(FlaskForm):
        recaptcha = RecaptchaField()
    asked = lambda: Form().validate()
    """
        ),
    ),
    ServerPackage(
        "flask-xcaptcha",
        "recaptcha",
        "Python",
        "`XCAPTCHA_VERIFY_URL`, `XCAPTCHA_API_URL`",
        flask(
            """
    from flask_xcaptcha import XCaptcha
    app.config.update(XCAPTCHA_VERIFY_URL=url, XCAPTCHA_SITE_KEY=sitekey, XCAPTCHA_SECRET_KEY=secret)
    asked = XCaptcha(app=app).verify
    """
        ),
    ),
    ServerPackage(
        "flask-recaptcha",
        "recaptcha",
        "Python",
        "`ReCaptcha.VERIFY_URL`",
        """
    # It is older than the Jinja it is installed with, and takes a name from there that has moved.
    import jinja2, markupsafe
    jinja2.Markup = markupsafe.Markup
    """
        + flask(
            """
    from flask_recaptcha import ReCaptcha
    ReCaptcha.VERIFY_URL = url
    asked = ReCaptcha(app, site_key=sitekey, secret_key=secret).verify
    """
        ),
    ),
    ServerPackage(
        "flask-hcaptcha",
        "hcaptcha",
        "Python",
        "`hCaptcha.VERIFY_URL`",
        flask(
            """
    from flask_hcaptcha import hCaptcha
    hCaptcha.VERIFY_URL = url
    app.config.update(HCAPTCHA_SITE_KEY=sitekey, HCAPTCHA_SECRET_KEY=secret)
    captcha = hCaptcha(app)
    asked = lambda: captcha.verify()
    """
        ),
    ),
    ServerPackage(
        "Flask-Turnstile",
        "turnstile",
        "Python",
        "`Turnstile.VERIFY_URL`",
        flask(
            """
    from flask_turnstile import Turnstile
    Turnstile.VERIFY_URL = url
    app.config.update(TURNSTILE_SITE_KEY=sitekey, TURNSTILE_SECRET_KEY=secret)
    asked = lambda: captcha.verify()
    captcha = Turnstile(app)
    """
        ),
    ),
    ServerPackage(
        "google-recaptcha (PyPI)",
        "recaptcha",
        "Python",
        "`ReCaptcha.VERIFY_URL`",
        flask(
            """
    from google_recaptcha import ReCaptcha
    ReCaptcha.VERIFY_URL = url
    asked = ReCaptcha(app, version=2, site_key=sitekey, site_secret=secret).verify
    """
        ),
    ),
    ServerPackage(
        "norecaptcha",
        "recaptcha",
        "Python",
        '`verify_server="gate.example"`',
        """
    from norecaptcha.captcha import submit
    def verify(token):
        return submit(token, secret, "192.0.2.1", verify_server=domain).is_valid
    """,
    ),
    ServerPackage(
        "pyturnstile",
        "turnstile",
        "Python",
        NAME,
        """
    from pyturnstile import validate
    def verify(token):
        return validate(token, secret).success
    """,
        by_name=True,
    ),
    ServerPackage(
        "wtforms-hcaptcha",
        "hcaptcha",
        "Python",
        NAME,
        """
    from werkzeug.datastructures import MultiDict
    from wtforms import Form
    from wtforms_hcaptcha import HcaptchaField
    class Login(Form):
        captcha = HcaptchaField(site_key=sitekey, secret_key=secret)
    def verify(token):
        sent = MultiDict({"h-captcha-response": token})
        return Login(sent, captcha={"ip_address": "192.0.2.1"}).validate()
    """,
        by_name=True,
    ),
]

NODE = [
    ServerPackage(
        "google-recaptcha (npm)",
        "recaptcha",
        "Node.js",
        "`apiUrl`",
        """
        const Recaptcha = require("google-recaptcha");
        const recaptcha = new Recaptcha({ secret, apiUrl: url });
        const verify = (token) => new Promise((done) => recaptcha.verify({ response: token }, (error) => done(!error)));
        """,
    ),
    ServerPackage(
        "express-recaptcha",
        "recaptcha",
        "Node.js",
        NAME,
        """
        const { RecaptchaV2 } = require("express-recaptcha");
        const { middleware } = new RecaptchaV2(sitekey, secret);
        const accepts = (request, response, next) =>
          middleware.verify(request, response, () => next(request.recaptcha.error));
        const verify = (token) => posted(accepts, { "g-recaptcha-response": token });
        """,
        by_name=True,
    ),
    ServerPackage(
        "recaptcha2",
        "recaptcha",
        "Node.js",
        NAME,
        """
        const Recaptcha = require("recaptcha2");
        const recaptcha = new Recaptcha({ siteKey: sitekey, secretKey: secret });
        const verify = (token) => recaptcha.validate(token).then(() => true);
        """,
        by_name=True,
    ),
    ServerPackage(
        "recaptcha-promise",
        "recaptcha",
        "Node.js",
        NAME,
        """
        const recaptcha = require("recaptcha-promise").default.create({ secret });
        const verify = (token) => recaptcha.verify(token);
        """,
        by_name=True,
    ),
    ServerPackage(
        "grecaptcha",
        "recaptcha",
        "Node.js",
        NAME,
        """
        const Client = require("grecaptcha");
        const verify = (token) => new Client(secret).verify(token);
        """,
        by_name=True,
    ),
    ServerPackage(
        "fastify-recaptcha",
        "recaptcha",
        "Node.js",
        NAME,
        """
        const app = require("fastify")();
        app.register(require("fastify-recaptcha").default, { recaptcha_secret_key: secret, reply: true });
        app.post("/", async () => "accepted");
        const sent = (token) => ({ method: "POST", url: "/", payload: { "g-recaptcha-response": token } });
        const verify = async (token) => (await app.inject(sent(token))).body === "accepted";
        """,
        by_name=True,
    ),
    ServerPackage(
        "@nestlab/google-recaptcha",
        "recaptcha",
        "Node.js",
        "`network`",
        """
        require("reflect-metadata");
        const { NestFactory } = require("@nestjs/core");
        const { GoogleRecaptchaModule, GoogleRecaptchaValidator } = require("@nestlab/google-recaptcha");
        const given = { secretKey: secret, network: url, response: (request) => request.body.token, score: 0.5 };
        const context = NestFactory.createApplicationContext(GoogleRecaptchaModule.forRoot(given), { logger: false });
        const verify = async (token) => {
          const validator = (await context).get(GoogleRecaptchaValidator);
          return (await validator.validate({ response: token })).success;
        };
        """,
    ),
    ServerPackage(
        "hcaptcha (npm)",
        "hcaptcha",
        "Node.js",
        NAME,
        """
        const hcaptcha = require("hcaptcha");
        const verify = async (token) => (await hcaptcha.verify(secret, token)).success;
        """,
        by_name=True,
    ),
    ServerPackage(
        "express-hcaptcha",
        "hcaptcha",
        "Node.js",
        NAME,
        """
        const { middleware } = require("express-hcaptcha");
        const verify = (token) => posted(middleware.validate(secret), { token });
        """,
        by_name=True,
    ),
    ServerPackage(
        "express-turnstile",
        "turnstile",
        "Node.js",
        '`globalThis.fetch = require("node-fetch")`, and ' + NAME,
        """
        // It gives the stream of form-data to fetch. Node's own fetch sends the text `[object FormData]` instead.
        globalThis.fetch = require("node-fetch");
        const { turnstile } = require("express-turnstile");
        const verify = (token) => posted(turnstile.validate(secret), { token });
        """,
        by_name=True,
    ),
    ServerPackage(
        "turnstile-verify",
        "turnstile",
        "Node.js",
        NAME,
        """
        const { TurnstileVerify } = require("turnstile-verify");
        const turnstile = new TurnstileVerify({ token: secret });
        const verify = async (token) => (await turnstile.validate({ response: token })).valid;
        """,
        by_name=True,
    ),
    ServerPackage(
        "cf-turnstile",
        "turnstile",
        "Node.js",
        NAME,
        """
        const Turnstile = require("cf-turnstile");
        const turnstile = (Turnstile.default ?? Turnstile)(secret);
        const verify = async (token) => (await turnstile(token)).success;
        """,
        by_name=True,
    ),
    ServerPackage(
        "next-turnstile (server)",
        "turnstile",
        "Node.js",
        NAME,
        """
        const { validateTurnstileToken } = require("next-turnstile");
        const verify = async (token) => (await validateTurnstileToken({ token, secretKey: secret })).success;
        """,
        by_name=True,
    ),
]

DEBIAN = [
    ServerPackage(
        "google/recaptcha (Debian's php-google-recaptcha)",
        "recaptcha",
        "PHP",
        "`new Post($url)`",
        """
        set_include_path($debian . "/usr/share/php");
        require "ReCaptcha/autoload.php";
        function verify($token) {
            global $url, $secret;
            $method = new ReCaptcha\\RequestMethod\\Post($url);
            return (new ReCaptcha\\ReCaptcha($secret, $method))->verify($token)->isSuccess();
        }
        """,
    ),
    ServerPackage(
        "recaptcha (Debian's ruby-recaptcha)",
        "recaptcha",
        "Ruby",
        "`verify_url`, `api_server_url`",
        """
        $LOAD_PATH.unshift("#{DEBIAN}/usr/lib/ruby/vendor_ruby")
        require "net/http"
        require "recaptcha"
        include Recaptcha::Verify
        Recaptcha.configure do |given|
          given.site_key, given.secret_key, given.verify_url = SITEKEY, SECRET, URL
        end
        Request = Struct.new(:remote_ip, :format, :host)
        def request = Request.new("192.0.2.1", :json, "127.0.0.1")
        def verify(token) = verify_recaptcha(response: token)
        """,
    ),
]


def program_of(row: ServerPackage) -> str:
    """Return the program without the indentation that it has in this file."""
    return dedent("\n".join(line for line in row.program.splitlines() if line.strip()))
