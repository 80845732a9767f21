// Package deploytest checks the manifests in deploy, and those that dumptool prints,
// against the types of Kubernetes.
package deploytest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/yaml"
)

// volcanoJob has the fields of a job of Volcano (batch.volcano.sh/v1alpha1) that the
// manifests may use, from its documentation.
type volcanoJob struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              struct {
		SchedulerName string              `json:"schedulerName,omitempty"`
		MinAvailable  int32               `json:"minAvailable,omitempty"`
		MaxRetry      int32               `json:"maxRetry,omitempty"`
		Queue         string              `json:"queue,omitempty"`
		Plugins       map[string][]string `json:"plugins,omitempty"`
		Policies      []volcanoPolicy     `json:"policies,omitempty"`
		Tasks         []volcanoTask       `json:"tasks,omitempty"`
		TTL           *int32              `json:"ttlSecondsAfterFinished,omitempty"`
	} `json:"spec,omitempty"`
}

type volcanoTask struct {
	Name     string                 `json:"name,omitempty"`
	Replicas int32                  `json:"replicas,omitempty"`
	Template corev1.PodTemplateSpec `json:"template,omitempty"`
	Policies []volcanoPolicy        `json:"policies,omitempty"`
}

type volcanoPolicy struct {
	Event    string `json:"event,omitempty"`
	Action   string `json:"action,omitempty"`
	ExitCode *int32 `json:"exitCode,omitempty"`
}

// The events and actions of Volcano that manifests may use.
var (
	volcanoEvents  = []string{"TaskCompleted", "PodFailed", "PodEvicted"}
	volcanoActions = []string{"CompleteJob", "TerminateJob", "AbortJob", "RestartJob", "RestartTask"}
)

// jobs decodes a manifest of Jobs, strictly.
func jobs(text string) ([]batchv1.Job, error) {
	var all []batchv1.Job
	for doc := range strings.SplitSeq(text, "\n---\n") {
		var job batchv1.Job
		if err := yaml.UnmarshalStrict([]byte(doc), &job); err != nil {
			return nil, err
		}
		if job.APIVersion != "batch/v1" || job.Kind != "Job" {
			return nil, fmt.Errorf("it is a %s of %s", job.Kind, job.APIVersion)
		}
		all = append(all, job)
	}
	return all, nil
}

// volcano decodes a job of Volcano, strictly.
func volcano(text string) (*volcanoJob, error) {
	job := new(volcanoJob)
	if err := yaml.UnmarshalStrict([]byte(text), job); err != nil {
		return nil, err
	}
	if job.APIVersion != "batch.volcano.sh/v1alpha1" || job.Kind != "Job" {
		return nil, fmt.Errorf("it is a %s of %s", job.Kind, job.APIVersion)
	}
	policies := job.Spec.Policies
	for _, task := range job.Spec.Tasks {
		policies = append(policies, task.Policies...)
	}
	for _, p := range policies { // of an event, or of an exit status that is not 0
		event, status := slices.Contains(volcanoEvents, p.Event), p.ExitCode != nil && *p.ExitCode != 0
		if event == status || p.Event != "" && !event || !slices.Contains(volcanoActions, p.Action) {
			return nil, fmt.Errorf("policy %+v is unknown", p)
		}
	}
	return job, nil
}

// admission is the code that decides on pods in namespaces of some level.
var admission = func() policy.Evaluator {
	e, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		panic(err)
	}
	return e
}()

// refused says why a namespace of the level restricted does not admit a pod, empty where it
// does.
func refused(pod *corev1.PodTemplateSpec) string {
	restricted := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	var why []string
	for _, result := range admission.EvaluatePod(restricted, &pod.ObjectMeta, &pod.Spec) {
		if !result.Allowed {
			why = append(why, result.ForbiddenReason+": "+result.ForbiddenDetail)
		}
	}
	return strings.Join(why, "; ")
}

// checkPod checks what every pod of a manifest must have: that it is admitted, that quotas
// can count all of its containers, and that it gets no rights or variables it does not need.
func checkPod(t *testing.T, name string, pod *corev1.PodTemplateSpec) {
	t.Helper()
	if why := refused(pod); why != "" {
		t.Errorf("%s: Pod Security refuses it: %s", name, why)
	}
	spec := &pod.Spec
	if spec.RestartPolicy != corev1.RestartPolicyNever { // a podFailurePolicy needs it, and Volcano counts pods
		t.Errorf("%s: restartPolicy %s", name, spec.RestartPolicy)
	}
	if spec.AutomountServiceAccountToken == nil || *spec.AutomountServiceAccountToken || spec.EnableServiceLinks == nil || *spec.EnableServiceLinks {
		t.Errorf("%s: it gets a token, or the variables of services", name)
	}
	containers := slices.Concat(spec.InitContainers, spec.Containers)
	for i := range containers {
		c := &containers[i]
		for _, list := range []corev1.ResourceList{c.Resources.Requests, c.Resources.Limits} {
			if list.Cpu().IsZero() || list.Memory().IsZero() {
				t.Errorf("%s: container %s has requests %v and limits %v", name, c.Name, c.Resources.Requests, c.Resources.Limits)
			}
		}
		if c.SecurityContext == nil || c.SecurityContext.ReadOnlyRootFilesystem == nil || !*c.SecurityContext.ReadOnlyRootFilesystem {
			t.Errorf("%s: the file system of container %s can be written", name, c.Name)
		}
		tmp := slices.IndexFunc(spec.Volumes, func(v corev1.Volume) bool {
			return v.EmptyDir != nil && v.EmptyDir.SizeLimit != nil && slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == v.Name && m.MountPath == "/tmp" })
		})
		if tmp < 0 {
			t.Errorf("%s: container %s has no /tmp with a limit", name, c.Name)
		}
	}
}

// program is the program, which TestMain builds.
var program string

func TestMain(m *testing.M) {
	os.Exit(withProgram(m.Run))
}

// withProgram builds the program for a run.
func withProgram(run func() int) int {
	dir, err := os.MkdirTemp("", "deploytest-*")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // it is ours
	program = filepath.Join(dir, "dumptool")
	build := exec.Command("go", "build", "-o", program, "./cmd/dumptool")
	build.Dir = filepath.Join("..", "..")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%v\n%s", err, out)
		return 1
	}
	return run()
}

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "deploy", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestKubernetes checks what the server of Kubernetes asks for besides the fields: the
// index of a shard, and policies that go with it.
func TestKubernetes(t *testing.T) {
	text := read(t, "kubernetes/jobs.yaml")
	all, err := jobs(text)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for i := range all {
		job := &all[i]
		names = append(names, job.Name)
		pod := &job.Spec.Template.Spec
		checkPod(t, job.Name, &job.Spec.Template)
		if job.Spec.ActiveDeadlineSeconds == nil || job.Spec.TTLSecondsAfterFinished == nil {
			t.Errorf("%s: it has no deadline, or stays for ever", job.Name)
		}
		for _, rule := range job.Spec.PodFailurePolicy.Rules {
			if rule.OnExitCodes == nil {
				continue
			}
			if *rule.OnExitCodes.ContainerName != pod.Containers[0].Name || !slices.IsSorted(rule.OnExitCodes.Values) || slices.Contains(rule.OnExitCodes.Values, 0) {
				t.Errorf("%s: rule %+v", job.Name, rule.OnExitCodes)
			}
			if rule.Action == batchv1.PodFailurePolicyActionFailIndex && job.Spec.BackoffLimitPerIndex == nil {
				t.Errorf("%s: FailIndex without backoffLimitPerIndex", job.Name)
			}
		}
		if indexed := job.Spec.CompletionMode != nil && *job.Spec.CompletionMode == batchv1.IndexedCompletion; indexed != (job.Spec.BackoffLimitPerIndex != nil) {
			t.Errorf("%s: backoffLimitPerIndex is for Indexed Jobs", job.Name)
		}
	}
	if want := []string{"dumptool-shards", "dumptool-merge"}; !slices.Equal(names, want) {
		t.Errorf("jobs %v, want %v", names, want)
	}
	shards := &all[0].Spec
	if *shards.BackoffLimitPerIndex != 3 || shards.MaxFailedIndexes != nil {
		t.Errorf("shards are tried again %d times, and others stop after %v", *shards.BackoffLimitPerIndex, shards.MaxFailedIndexes)
	}
	for status, want := range map[int32]batchv1.PodFailurePolicyAction{1: "", 2: "FailJob", 3: "", 4: "FailJob", 130: "Ignore", 137: ""} {
		if got := actionOn(shards.PodFailurePolicy, status); got != want {
			t.Errorf("a shard that ends with %d: %q, want %q", status, got, want)
		}
	}
	for status, want := range map[int32]batchv1.PodFailurePolicyAction{1: "FailJob", 2: "FailJob", 3: "FailJob", 4: "FailJob", 5: "FailJob", 130: "Ignore", 137: ""} {
		if got := actionOn(all[1].Spec.PodFailurePolicy, status); got != want {
			t.Errorf("a merge that ends with %d: %q, want %q", status, got, want)
		}
	}
	if *all[1].Spec.ActiveDeadlineSeconds <= *shards.ActiveDeadlineSeconds {
		t.Error("the merge ends before the shards do")
	}
	if *shards.Completions != 100 || *shards.Parallelism != 100 || !slices.Contains(shards.Template.Spec.Containers[0].Args, "auto/100") {
		t.Errorf("shards %+v", shards)
	}

	// A misspelled field is found.
	for _, field := range []string{"backoffLimitPerIndex", "podFailurePolicy", "containerName", "secretRef"} {
		if _, err := jobs(strings.Replace(text, field, field+"x", 1)); err == nil || !strings.Contains(err.Error(), field+"x") {
			t.Errorf("%sx: error %v", field, err)
		}
	}
}

// TestAdmission: each part of the security of a pod is needed.
func TestAdmission(t *testing.T) {
	text := read(t, "kubernetes/jobs.yaml")
	for _, part := range []string{"runAsNonRoot: true", "seccompProfile: {type: RuntimeDefault}", "allowPrivilegeEscalation: false", "capabilities: {drop: [ALL]}"} {
		all, err := jobs(strings.Replace(text, part, "", 1))
		if err != nil {
			t.Fatal(err)
		}
		if why := refused(&all[0].Spec.Template); why == "" {
			t.Errorf("without %q the pod is admitted all the same", part)
		}
	}
}

// actionOn is what a policy does about a pod that ended with an exit status.
func actionOn(p *batchv1.PodFailurePolicy, status int32) batchv1.PodFailurePolicyAction {
	for _, rule := range p.Rules {
		if rule.OnExitCodes != nil && slices.Contains(rule.OnExitCodes.Values, status) {
			return rule.Action
		}
	}
	return ""
}

func TestVolcano(t *testing.T) {
	text := read(t, "volcano/job.yaml")
	job, err := volcano(text)
	if err != nil {
		t.Fatal(err)
	}
	tasks := job.Spec.Tasks
	if len(tasks) != 2 || tasks[0].Replicas != 100 || tasks[1].Replicas != 1 {
		t.Errorf("tasks %+v", tasks)
	}
	for i := range tasks {
		checkPod(t, tasks[i].Name, &tasks[i].Template)
		for _, event := range []string{"PodFailed", "PodEvicted"} {
			if !slices.ContainsFunc(tasks[i].Policies, func(p volcanoPolicy) bool { return p.Event == event && p.Action == "RestartJob" }) {
				t.Errorf("%s: nothing is done about %s", tasks[i].Name, event)
			}
		}
	}
	if job.Spec.MaxRetry != 3 || job.Spec.TTL == nil {
		t.Errorf("restarts: %d, ttl: %v", job.Spec.MaxRetry, job.Spec.TTL)
	}
	if _, ok := job.Spec.Plugins["env"]; !ok {
		t.Error("without the plugin env there is no VC_TASK_INDEX")
	}
	for _, field := range []string{"minAvailable", "replicas", "policies", "restartPolicy"} {
		if _, err := volcano(strings.Replace(text, field, field+"x", 1)); err == nil || !strings.Contains(err.Error(), field+"x") {
			t.Errorf("%sx: error %v", field, err)
		}
	}
}

// TestArguments checks that a container gets the arguments that the command line had,
// whatever characters are in them but control characters, which are refused.
func TestArguments(t *testing.T) {
	lists := [][]string{
		{"true", "yes", "NO", "null", "~", "1", "1e3", "0x1f", "1_000", "12:30:45", "2026-11-22", ".inf", "-", "--", "=", "<<", "a: b", "a #b", "- a", "&a", "*a", "!a", "%a", "@a", "`a", "|", ">", "? a", "[a", "{a", "a,b", ""},
		{"$(HOME)", "$$(HOME)", "$", "$$", "$$$", "${HOME}", "$HOME)", "\u00a0\u2028\u2029\ufeff\ufffe", "é张\U0001f600\U0010ffff", " a ", "\\n", `"a"`, "'a'"},
	}
	random := rand.New(rand.NewPCG(1, 2))
	characters := []rune("ab1 '\"\\$(){}[]:#-,&*!|>%@`~=?.<é张\u2028\ufeff\U0001f600")
	for range 40 {
		var list []string
		for range 1 + random.IntN(6) {
			var word []rune
			for range random.IntN(8) {
				word = append(word, characters[random.IntN(len(characters))])
			}
			list = append(list, string(word))
		}
		lists = append(lists, list)
	}
	for _, list := range lists {
		for _, scheduler := range []string{"kubernetes", "volcano"} {
			args := append([]string{"cluster", scheduler, "-n", "4", "--run", "1f", "--", "overflow", "scan", "-out", "s3://a/b", "--"}, list...)
			cmd := exec.Command(program, args...)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%q: %v\n%s", args, err, stderr.String())
			}
			var pods []corev1.PodSpec
			if scheduler == "kubernetes" {
				all, err := jobs(string(out))
				if err != nil {
					t.Fatalf("%q: %v\n%s", args, err, out)
				}
				pods = append(pods, all[0].Spec.Template.Spec)
			} else {
				job, err := volcano(string(out))
				if err != nil {
					t.Fatalf("%q: %v\n%s", args, err, out)
				}
				pods = append(pods, job.Spec.Tasks[0].Template.Spec)
			}
			var got []string
			for _, arg := range pods[0].Containers[0].Args {
				got = append(got, expanded(t, arg))
			}
			// What cluster adds stands behind the words, or before the -- that some need.
			at := slices.Index(got, "--shard")
			if at < 0 || at+5 > len(got) || !slices.Equal(got[at:at+5], []string{"--shard", "auto/4", "--resume", "-j", "4"}) {
				t.Fatalf("%s: the container gets\n%q", scheduler, got)
			}
			got = slices.Delete(got, at, at+5)
			begin := []string{"overflow", "scan", "--run", "1f", "-out", "s3://a/b.shards/1f"}
			without, with := slices.Concat(begin, list), slices.Concat(begin, []string{"--"}, list)
			if !slices.Equal(got, with) && !slices.Equal(got, without) {
				t.Errorf("%s: the container gets\n%q\nwant\n%q\n%s", scheduler, got, with, out)
			}
		}
	}
}

// expanded is what Kubernetes makes of an argument: $$ is $, and $(NAME) a variable, of
// which there must be none.
func expanded(t *testing.T, arg string) string {
	t.Helper()
	var b strings.Builder
	for i := 0; i < len(arg); i++ {
		if arg[i] == '$' && i+1 < len(arg) {
			switch arg[i+1] {
			case '$':
				i++
			case '(':
				t.Errorf("%q has a variable", arg)
			}
		}
		b.WriteByte(arg[i])
	}
	return b.String()
}
