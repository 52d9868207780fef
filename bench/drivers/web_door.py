"""The door of one agent as a client of HTTP sees it: requests over its unix socket, and each answer
held against the description of REST that the agent itself gives."""

import http.client
import json
import socket
import urllib.parse

from cluster import Broken

OPENAPI_PATH = "/v1/openapi.json"
LINES = "application/x-ndjson"


def checker():
    """The package of Debian that checks documents; benches without HTTP do without it."""
    try:
        from jsonschema import Draft202012Validator
    except ImportError as error:
        raise Broken("needs python3-jsonschema") from error
    return Draft202012Validator


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self.path))


class Answer:
    """One answer; `documents`: the JSON of its body, of each line if it has lines."""

    def __init__(self, response):
        self.status = response.status
        self.kind = response.headers.get_content_type()
        self.headers = response.headers
        self.text = response.read().decode()

    @property
    def documents(self):
        lines = self.text.splitlines() if self.kind == LINES else [self.text]
        return [json.loads(line) for line in lines]

    @property
    def document(self):
        return self.documents[0]


class Description:
    """The document of OpenAPI, and the faults of answers and requests by it."""

    def __init__(self, document):
        self.document = document
        self.validators = {}
        self.driven = set()

    def validator(self, schema):
        key = json.dumps(schema)
        if key not in self.validators:
            whole = {"$schema": "https://json-schema.org/draft/2020-12/schema",
                     "components": self.document["components"], **schema}
            self.validators[key] = checker()(whole)
        return self.validators[key]

    def resolved(self, part):
        while "$ref" in part:
            at = self.document
            for name in part["$ref"].removeprefix("#/").split("/"):
                at = at[name]
            part = at
        return part

    def operation_of(self, method, path):
        """(name, operation) of a path without its query; nothing if no route has it."""
        for template, operations in self.document["paths"].items():
            if method.lower() in operations and fits(template, path):
                return f"{method} {template}", operations[method.lower()]
        return None, None

    def schema_faults(self, schema, document):
        return [f"{'/'.join(map(str, error.absolute_path))}: {error.message[:200]}"
                for error in self.validator(schema).iter_errors(document)]

    def faults(self, method, path, query, body, answer):
        """All that the description does not allow. A request that was refused may be wrong, but for
        one that only lacked a right."""
        name, operation = self.operation_of(method, path)
        if operation is None:
            return [] if answer.status in (403, 404, 405) else ["no route has that path"]
        faults = []
        if answer.status < 400:
            self.driven.add(name)
        if answer.status < 400 or answer.status == 403:
            faults += self.request_faults(operation, query, body)
        described = operation["responses"].get(str(answer.status))
        if described is None:
            return faults + [f"status {answer.status} is not described"]
        content = self.resolved(described)["content"]
        if answer.kind not in content:
            return faults + [f"content type {answer.kind} is not described"]
        if answer.status < 400:
            faults += [f"header {header} is missing" for header in ("muster-answered-by",
                                                                    "muster-age-ms")
                       if header not in answer.headers]
        for document in answer.documents:
            faults += self.schema_faults(content[answer.kind]["schema"], document)
        return faults

    def request_faults(self, operation, query, body):
        parameters = {each["name"]: each for each in map(self.resolved, operation["parameters"])
                      if each["in"] == "query"}
        faults = [f"parameter {name} is not described" for name in query if name not in parameters]
        if body is not None:
            schema = operation["requestBody"]["content"]["application/json"]["schema"]
            faults += [f"body: {fault}" for fault in self.schema_faults(schema, body)]
        return faults

    def routes(self):
        return {f"{method.upper()} {path}" for path, operations in self.document["paths"].items()
                for method in operations}


def fits(template, path):
    """Whether the path has that form: a part in braces stands for any text without '/' and ':'."""
    wanted, given = template.split("/"), path.split("/")
    if len(wanted) != len(given):
        return False
    for pattern, part in zip(wanted, given):
        name, _, order = pattern.partition(":")
        value, _, given_order = part.partition(":")
        if order != given_order or not (name == value or name.startswith("{") and value):
            return False
    return True


class Door:
    """Requests to one agent; `faults` is what its answers did against its own description."""

    def __init__(self, agent, timeout=20):
        self.path = agent.data / "http.sock"
        self.timeout = timeout
        self.faults = []
        self.description = None

    def describe(self):
        """Reads the description, and holds all further answers against it."""
        answer = self.send("GET", OPENAPI_PATH)
        if answer.status != 200:
            raise Broken(f"{OPENAPI_PATH}: {answer.status} {answer.text}")
        self.description = Description(answer.document)
        checker().check_schema({"$defs": answer.document["components"]["schemas"]})

    def send(self, method, path, query=None, body=None, headers=None):
        """The answer to one request; `path` is not encoded yet."""
        target = urllib.parse.quote(path, safe="/:,")
        if query:
            target += "?" + urllib.parse.urlencode(query)
        fields = {"Host": "localhost", **(headers or {})}
        if method != "GET":
            fields.setdefault("muster-client", "test")
        text = None
        if body is not None:
            text = body if isinstance(body, (str, bytes)) else json.dumps(body)
            fields.setdefault("content-type", "application/json")
        connection = UnixConnection(self.path, self.timeout)
        try:
            connection.request(method, target, body=text, headers=fields)
            answer = Answer(connection.getresponse())
        finally:
            connection.close()
        if self.description:
            given = body if isinstance(body, dict) else None
            for fault in self.description.faults(method, path, query or {}, given, answer):
                self.faults.append(f"{method} {path}: {answer.status}: {fault}")
        return answer

    def get(self, path, **query):
        return self.send("GET", path, query)
