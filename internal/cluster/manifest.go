package cluster

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"dumptool/internal/lang"
)

// MaxIndexed is the largest number of shards of a Kubernetes Job that retries each index.
const MaxIndexed = 100_000

// mergeTime limits a merge after its shards are complete; keep is how long finished jobs stay
// visible.
const (
	mergeTime = time.Hour
	keep      = 24 * time.Hour
)

// Names of steps, containers and volumes in manifests, which patches refer to.
const (
	shardsStep = "shards"
	mergeStep  = "merge"
	container  = "dumptool"
	tmpVolume  = "tmp"
)

// manifest builds a manifest.
type manifest struct{ strings.Builder }

// line adds a line, indented by depth levels.
func (m *manifest) line(depth int, format string, args ...any) {
	fmt.Fprintf(m, "%s%s\n", strings.Repeat("  ", depth), fmt.Sprintf(format, args...))
}

// lines adds lines, indented by depth levels.
func (m *manifest) lines(depth int, text string) {
	for line := range strings.Lines(strings.Trim(text, "\n")) {
		m.line(depth, "%s", strings.TrimRight(line, "\n"))
	}
}

// step is a step of a job in a container.
type step struct {
	name, cpus, memory string
	args               []string
	// deadline limits the run time of the step.
	deadline time.Duration
}

// steps returns the shards and the merge.
func (j *Job) steps() (shards, merge *step) {
	args := j.shardArgs()
	if !j.OwnWorkers {
		args = withFlags(args, "-j", fmt.Sprint(j.CPUs))
	}
	return &step{shardsStep, fmt.Sprint(j.CPUs), j.Memory, args, j.Deadline},
		&step{mergeStep, "2", j.MergeMemory, j.mergeArgs("--wait", inHours(j.Deadline)), j.Deadline + mergeTime}
}

// inHours formats a duration without zero minutes and seconds.
func inHours(d time.Duration) string {
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = strings.TrimSuffix(text, zero[1:])
		}
	}
	return text
}

// pod adds the template of a pod that the restricted level of Pod Security admits. It needs no
// rights on the API. Service links are off: their variables could look like settings.
func (j *Job) pod(m *manifest, depth int, s *step) {
	m.line(depth, "template:")
	m.line(depth, "  metadata:")
	m.line(depth, "    labels: %s", j.labels())
	m.line(depth, "  spec:")
	m.lines(depth+2, `
restartPolicy: Never
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  seccompProfile: {type: RuntimeDefault}
containers:
  - name: `+container)
	m.line(depth+4, "image: %s", yamlString(j.Image))
	m.line(depth+4, "args:")
	for _, a := range s.args {
		m.line(depth+4, "  - %s", containerArg(a))
	}
	if j.Secret != "" {
		m.line(depth+4, "envFrom: [{secretRef: {name: %s}}]", yamlString(j.Secret))
	}
	m.line(depth+4, "resources:")
	m.line(depth+4, "  requests: {cpu: %q, memory: %s}", s.cpus, s.memory)
	m.line(depth+4, "  limits: {cpu: %q, memory: %s}", s.cpus, s.memory)
	m.lines(depth+4, `
securityContext:
  allowPrivilegeEscalation: false
  capabilities: {drop: [ALL]}
  readOnlyRootFilesystem: true
volumeMounts: [{name: `+tmpVolume+`, mountPath: /tmp}]`)
	m.line(depth+2, "volumes: [{name: %s, emptyDir: {sizeLimit: 16Gi}}]", tmpVolume)
}

// labels identify the run of an object.
func (j *Job) labels() string {
	const longest, ends = 63, "._-"
	run := strings.TrimLeft(j.Run, ends)
	run = strings.TrimRight(run[:min(len(run), longest)], ends)
	return fmt.Sprintf("{app.kubernetes.io/name: dumptool, app.kubernetes.io/instance: %s}", yamlString(run))
}

// Kubernetes returns a manifest of an Indexed Job for the shards and a Job for the merge. Jobs
// cannot depend on Jobs: both start at once, and the merge waits for the shards' documents.
func (j *Job) Kubernetes() (string, error) {
	if j.N > MaxIndexed {
		return "", lang.Errorf("-n %d: an Indexed Job of Kubernetes has at most %d shards", j.N, MaxIndexed)
	}
	if err := j.checkText(); err != nil {
		return "", err
	}
	m := new(manifest)
	m.line(0, "# %s", j.comment())
	m.line(0, "#")
	m.line(0, "#   kubectl apply -f FILE              does the work")
	m.line(0, "#   kubectl replace --force -f FILE    tries again: what is complete stays")
	parallel := j.N
	if j.Parallel > 0 {
		parallel = min(j.Parallel, j.N)
	}
	shards, merge := j.steps()
	j.job(m, shards, "2, 4", "wrong usage, or nothing to do: the same for all shards", `
completionMode: Indexed
completions: `+fmt.Sprint(j.N)+`
parallelism: `+fmt.Sprint(parallel)+`
backoffLimitPerIndex: 3`)
	m.line(0, "---")
	j.job(m, merge, "1, 2, 3, 4, 5", "it has said what is wrong, and would say it again", `
backoffLimit: 3`)
	return j.patched(m.String(), j.Name+"-"+shardsStep, j.Name+"-"+mergeStep)
}

// job adds a Job that is not retried after some exit statuses.
func (j *Job) job(m *manifest, s *step, statuses, why, policy string) {
	m.line(0, "apiVersion: batch/v1")
	m.line(0, "kind: Job")
	m.line(0, "metadata:")
	m.line(0, "  name: %s-%s", j.Name, s.name)
	m.line(0, "  labels: %s", j.labels())
	m.line(0, "spec:")
	m.lines(1, policy)
	m.line(1, "activeDeadlineSeconds: %d", int64(s.deadline.Seconds()))
	m.line(1, "ttlSecondsAfterFinished: %d", int64(keep.Seconds()))
	m.lines(1, `
podFailurePolicy:
  rules:
    - action: FailJob # `+why+`
      onExitCodes: {containerName: `+container+`, operator: In, values: [`+statuses+`]}
    - action: Ignore # it was interrupted
      onExitCodes: {containerName: `+container+`, operator: In, values: [130]}
    - action: Ignore # the node was drained, the pod preempted
      onPodConditions: [{type: DisruptionTarget, status: "True"}]`)
	j.pod(m, 1, s)
}

// Volcano returns a manifest of one Volcano job with a task for each step. The job is complete when
// the merge is complete. In all versions of Volcano a failed or evicted pod restarts the job;
// finished work is kept.
func (j *Job) Volcano() (string, error) {
	if err := j.checkText(); err != nil {
		return "", err
	}
	m := new(manifest)
	m.line(0, "# %s", j.comment())
	m.line(0, "apiVersion: batch.volcano.sh/v1alpha1")
	m.line(0, "kind: Job")
	m.line(0, "metadata:")
	m.line(0, "  name: %s", j.Name)
	m.line(0, "  labels: %s", j.labels())
	m.line(0, "spec:")
	m.line(1, "schedulerName: volcano")
	if j.Queue != "" {
		m.line(1, "queue: %s", yamlString(j.Queue))
	}
	m.line(1, "minAvailable: 1 # the tasks need not run at the same time")
	m.line(1, "maxRetry: 3 # restarts of the job")
	m.line(1, "ttlSecondsAfterFinished: %d", int64(keep.Seconds()))
	m.lines(1, `
plugins:
  env: [] # sets VC_TASK_INDEX
policies:
  - event: PodEvicted
    action: RestartJob
  - event: PodFailed
    action: RestartJob
tasks:`)
	shards, merge := j.steps()
	j.task(m, j.N, shards, 2, 4)
	j.task(m, 1, merge, 1, 2, 3, 4, 5)
	m.lines(4, `
- event: TaskCompleted
  action: CompleteJob`)
	return j.patched(m.String(), j.Name)
}

// task adds a task of a Volcano job. Restarts do not help against the exit statuses; policies of
// the task take precedence over policies of the job.
func (j *Job) task(m *manifest, replicas int, s *step, statuses ...int) {
	m.line(2, "- name: %s", s.name)
	m.line(2, "  replicas: %d", replicas)
	j.pod(m, 3, s)
	m.line(2, "  policies:")
	for _, status := range statuses {
		m.line(4, "- exitCode: %d", status)
		m.line(4, "  action: TerminateJob")
	}
	m.lines(4, `
- event: PodEvicted
  action: RestartJob
- event: PodFailed
  action: RestartJob`)
}

// yamlPlain matches texts that YAML reads as strings without quotes: paths, words and flags, but no
// numbers. yamlWords matches words that YAML may read as booleans, null or numbers.
var (
	yamlPlain = lang.Pattern(`^(--?)?[A-Za-z/][-A-Za-z0-9_./+@]*(://?[-A-Za-z0-9_./+@]+|:[0-9]+)?(=[-A-Za-z0-9_./+@]*)?$`)
	yamlWords = lang.Pattern(`(?i)^(true|false|yes|no|on|off|y|n|null|nan|inf|[-+]?\.inf)$`)
)

// yamlString formats a string for YAML 1.1 and 1.2. The text must be valid UTF-8 without control
// characters.
func yamlString(s string) string {
	if yamlPlain().MatchString(s) && !yamlWords().MatchString(s) {
		return s
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case 0x20 <= r && r < 0x7f || 0xa0 <= r && r < 0x2000 || 0x3000 <= r && r < 0xd800:
			b.WriteRune(r)
		case r <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// containerArg formats an argument for a Kubernetes manifest, in which $(NAME) would be a variable.
func containerArg(s string) string { return yamlString(strings.ReplaceAll(s, "$", "$$")) }

// checkText refuses texts that YAML cannot hold.
func (j *Job) checkText() error {
	for _, list := range j.words() {
		for _, w := range list {
			if !utf8.ValidString(w) {
				return lang.Errorf("argument %q is no UTF-8, which manifests cannot hold", w)
			}
		}
	}
	return nil
}
