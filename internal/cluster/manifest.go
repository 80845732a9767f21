package cluster

import (
	"fmt"
	"strings"
)

// waiting is how long the steps wait for those before them.
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
	args []string
	// after is a file that has to be there before it begins, empty for none.
	after        string
	cpus, memory string
}

// steps are the plan, if there is one, the shards and the merge.
func (j *Job) steps() (plan, shards, merge *step) {
	if j.Plan != nil {
		plan = &step{args: j.Plan, cpus: "2", memory: j.MergeMemory}
	}
	args := j.shardArgs()
	if !j.OwnWorkers {
		args = withFlags(args, "-j", fmt.Sprint(j.CPUs))
	}
	shards = &step{args: args, after: j.PlanFile, cpus: fmt.Sprint(j.CPUs), memory: j.Memory}
	return plan, shards, &step{args: withFlags(j.Merge, "--wait", waiting), cpus: "2", memory: j.MergeMemory}
}

// pod adds the specification of a pod.
func (j *Job) pod(m *manifest, depth int, s *step, restart string) {
	m.line(depth, "spec:")
	m.line(depth, "  restartPolicy: %s", restart)
	if s.after != "" {
		m.line(depth, "  initContainers: # the plan has to be there")
		j.container(m, depth+2, "wait", []string{"cluster", "wait", s.after, "--timeout", waiting})
	}
	m.line(depth, "  containers:")
	j.container(m, depth+2, "dumptool", s.args)
	m.line(depth, "      resources:")
	m.line(depth, "        requests: {cpu: %q, memory: %s}", s.cpus, s.memory)
	m.line(depth, "        limits: {memory: %s}", s.memory)
}

// container adds a container that runs dumptool.
func (j *Job) container(m *manifest, depth int, name string, args []string) {
	m.line(depth, "- name: %s", name)
	m.line(depth, "  image: %s", yamlString(j.Image))
	m.args(depth+1, args)
	m.line(depth, "  envFrom: [{secretRef: {name: %s}}]", yamlString(j.Secret))
}

// Kubernetes is a manifest of Jobs: one for the plan, an Indexed Job for the shards and
// one for the merge. Jobs cannot depend on Jobs: all start at once, and each waits for
// the files of those before it.
func (j *Job) Kubernetes() (string, error) {
	if err := checkText(j.words()); err != nil {
		return "", err
	}
	m := new(manifest)
	m.line(0, "# %s", comment(j.Line))
	plan, shards, merge := j.steps()
	if plan != nil {
		j.job(m, "plan", func() {
			m.line(1, "backoffLimit: 3")
			m.failPolicy("FailJob", "2, 4", "wrong usage, or nothing to compare: no use in trying again")
		}, plan)
		m.line(0, "---")
	}
	j.job(m, "shards", func() {
		m.line(1, "completionMode: Indexed")
		m.line(1, "completions: %d", j.N)
		m.line(1, "parallelism: %d", j.N)
		m.line(1, "backoffLimitPerIndex: 3")
		m.line(1, "maxFailedIndexes: %d", min(max(1, j.N/20), maxFailed))
		m.failPolicy("FailIndex", "2", "wrong usage or configuration: no use in trying again")
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
	plan, shards, merge := j.steps()
	if plan != nil {
		j.task(m, "plan", 1, plan, "OnFailure")
	}
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
