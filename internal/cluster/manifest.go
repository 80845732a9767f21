package cluster

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"dumptool/internal/lang"
)

// waiting is how long a merge waits for the shards.
const waiting = "6h"

// maxFailed is the most that Kubernetes takes for maxFailedIndexes of large Jobs.
const maxFailed = 10000

// manifest grows a manifest.
type manifest struct{ strings.Builder }

// line adds a line at a depth of indentation.
func (m *manifest) line(depth int, format string, args ...any) {
	fmt.Fprintf(m, "%s%s\n", strings.Repeat("  ", depth), fmt.Sprintf(format, args...))
}

// args adds the arguments of a container.
func (m *manifest) args(depth int, args []string) {
	m.line(depth, "args:")
	for _, a := range args {
		m.line(depth, "  - %s", containerArg(a))
	}
}

// step is a step of a job in a container.
type step struct {
	args         []string
	cpus, memory string
}

// steps are the shards and the merge.
func (j *Job) steps() (shards, merge *step) {
	args := j.shardArgs()
	if !j.OwnWorkers {
		args = withFlags(args, "-j", fmt.Sprint(j.CPUs))
	}
	return &step{args, fmt.Sprint(j.CPUs), j.Memory}, &step{withFlags(j.Merge, "--wait", waiting), "2", j.MergeMemory}
}

// pod adds the specification of a pod.
func (j *Job) pod(m *manifest, depth int, s *step, restart string) {
	m.line(depth, "spec:")
	m.line(depth, "  restartPolicy: %s", restart)
	m.line(depth, "  containers:")
	m.line(depth, "    - name: dumptool")
	m.line(depth, "      image: %s", yamlString(j.Image))
	m.args(depth+3, s.args)
	m.line(depth, "      envFrom: [{secretRef: {name: %s}}]", yamlString(j.Secret))
	m.line(depth, "      resources:")
	m.line(depth, "        requests: {cpu: %q, memory: %s}", s.cpus, s.memory)
	m.line(depth, "        limits: {memory: %s}", s.memory)
}

// Kubernetes is a manifest of an Indexed Job for the shards and a Job for the merge. Jobs
// cannot depend on Jobs: both start at once, and the merge waits for what the shards
// write.
func (j *Job) Kubernetes() (string, error) {
	if err := checkText(j.words()); err != nil {
		return "", err
	}
	m := new(manifest)
	m.line(0, "# %s", comment(j.Line))
	shards, merge := j.steps()
	j.job(m, "shards", func() {
		m.line(1, "completionMode: Indexed")
		m.line(1, "completions: %d", j.N)
		m.line(1, "parallelism: %d", j.N)
		m.line(1, "backoffLimitPerIndex: 3")
		m.line(1, "maxFailedIndexes: %d", min(max(1, j.N/20), maxFailed))
		m.failPolicy("FailIndex", "2, 4", "wrong usage, or nothing to compare: no use in trying again")
	}, shards)
	m.line(0, "---")
	j.job(m, "merge", func() {
		m.line(1, "backoffLimit: 3")
		m.failPolicy("FailJob", "1, 2, 4, 5", "faults were found: a result, no reason to try again")
	}, merge)
	return m.String(), nil
}

// job adds a Job.
func (j *Job) job(m *manifest, step string, policy func(), s *step) {
	m.line(0, "apiVersion: batch/v1")
	m.line(0, "kind: Job")
	m.line(0, "metadata:")
	m.line(0, "  name: %s-%s", j.Name, step)
	m.line(0, "spec:")
	policy()
	m.line(1, "template:")
	j.pod(m, 2, s, "Never")
}

// failPolicy adds which exit statuses are no reason to try again.
func (m *manifest) failPolicy(action, codes, why string) {
	m.line(1, "podFailurePolicy:")
	m.line(1, "  rules:")
	m.line(1, "    - action: %s # %s", action, why)
	m.line(1, "      onExitCodes: {containerName: dumptool, operator: In, values: [%s]}", codes)
	m.line(1, "    - action: Ignore # the node was drained, the pod preempted")
	m.line(1, "      onPodConditions: [{type: DisruptionTarget}]")
}

// Volcano is a manifest of one job of Volcano with a task for each step. The job is
// complete when the merge is.
func (j *Job) Volcano() (string, error) {
	if err := checkText(j.words()); err != nil {
		return "", err
	}
	m := new(manifest)
	m.line(0, "# %s", comment(j.Line))
	m.line(0, "apiVersion: batch.volcano.sh/v1alpha1")
	m.line(0, "kind: Job")
	m.line(0, "metadata:")
	m.line(0, "  name: %s", j.Name)
	m.line(0, "spec:")
	m.line(0, "  schedulerName: volcano")
	m.line(0, "  minAvailable: 1 # the tasks need not run at the same time")
	m.line(0, "  maxRetry: 3")
	m.line(0, "  plugins:")
	m.line(0, "    env: [] # sets VC_TASK_INDEX")
	m.line(0, "  tasks:")
	shards, merge := j.steps()
	j.task(m, "shards", j.N, shards, "OnFailure")
	j.task(m, "merge", 1, merge, "Never")
	m.line(3, "policies:")
	m.line(3, "  - event: TaskCompleted")
	m.line(3, "    action: CompleteJob")
	m.line(3, "  - event: PodFailed # faults were found, or shards are missing")
	m.line(3, "    action: TerminateJob")
	return m.String(), nil
}

// task adds a task of a job of Volcano.
func (j *Job) task(m *manifest, name string, replicas int, s *step, restart string) {
	m.line(2, "- name: %s", name)
	m.line(2, "  replicas: %d", replicas)
	m.line(2, "  template:")
	j.pod(m, 4, s, restart)
}

// yamlPlain is what a YAML reader takes for a string as it stands: a path, a word, a
// flag, but no number, and no word that may mean a truth value or nothing.
var (
	yamlPlain = lang.Pattern(`^(--?)?[A-Za-z/][-A-Za-z0-9_./+@]*(://?[-A-Za-z0-9_./+@]+|:[0-9]+)?(=[-A-Za-z0-9_./+@]*)?$`)
	yamlWords = lang.Pattern(`(?i)^(true|false|yes|no|on|off|y|n|null|nan|inf|[-+]?\.inf)$`)
)

// yamlString writes a string for YAML 1.1 and 1.2. The text is valid UTF-8 without control
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

// containerArg is an argument as the manifests of Kubernetes have it, where $(NAME) would
// be a variable.
func containerArg(s string) string { return yamlString(strings.ReplaceAll(s, "$", "$$")) }

// checkText refuses what YAML cannot hold.
func checkText(words [][]string) error {
	for _, list := range words {
		for _, w := range list {
			if !utf8.ValidString(w) {
				return fmt.Errorf("argument %q is no UTF-8, which manifests cannot hold", w)
			}
		}
	}
	return nil
}
