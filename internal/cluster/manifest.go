package cluster

import (
	"embed"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"dumptool/internal/lang"
)

// MaxIndexed is the largest number of shards of a Kubernetes Job that retries each index.
const MaxIndexed = 100_000

// mergeTime limits a merge after its shards are complete.
const mergeTime = time.Hour

// manifestFiles holds the templates of the manifests, and of the pods in them.
//
//go:embed manifests/*.yaml
var manifestFiles embed.FS

// placeholder is the name of a value in a template.
var placeholder = lang.Pattern(`\{\{([a-z ]+)\}\}`)

// render returns a template with values. A line that is one placeholder becomes the lines of the value,
// as far to the right, and none of an empty value. (Package text/template would make the program a quarter
// larger: with it the linker keeps all exported methods.)
func render(name string, values map[string]string) string {
	text, err := manifestFiles.ReadFile("manifests/" + name)
	if err != nil {
		panic(err) // the templates are part of the program
	}
	var b strings.Builder
	for line := range strings.Lines(string(text)) {
		bare := strings.TrimSpace(line)
		if placeholder().FindString(bare) != bare || bare == "" {
			b.WriteString(placeholder().ReplaceAllStringFunc(line, func(of string) string { return values[strings.Trim(of, "{}")] }))
			continue
		}
		indent := line[:strings.Index(line, bare)]
		for value := range strings.Lines(values[strings.Trim(bare, "{}")]) {
			b.WriteString(indent + strings.TrimSuffix(value, "\n") + "\n")
		}
	}
	return b.String()
}

// step is a step of a job in a container.
type step struct {
	name, cpus, memory string
	args               []string
	// final lists the exit statuses that restarts do not change.
	final []int
	// deadline limits the run time of the step.
	deadline time.Duration
}

// steps returns the shards and the merge.
func (j *Job) steps() []step {
	args := j.shardArgs()
	if !j.OwnWorkers {
		args = insertFlags(args, "-j", strconv.Itoa(j.CPUs))
	}
	return []step{
		{"shards", strconv.Itoa(j.CPUs), j.Memory, args, []int{2, 4}, j.Deadline},
		{"merge", "2", j.MergeMemory, j.mergeArgs("--wait", formatDuration(j.Deadline)), []int{1, 2, 3, 4, 5}, j.Deadline + mergeTime},
	}
}

// values returns the values of the templates.
func (j *Job) values() map[string]string {
	parallel := j.N
	if j.Parallel > 0 {
		parallel = min(j.Parallel, j.N)
	}
	values := map[string]string{
		"comment": j.Comment(), "name": j.Name, "labels": j.labels(), "shards": strconv.Itoa(j.N), "parallel": strconv.Itoa(parallel),
	}
	if j.Queue != "" {
		values["queue"] = "queue: " + yamlString(j.Queue)
	}
	for _, s := range j.steps() {
		values[s.name+" seconds"] = strconv.FormatInt(int64(s.deadline.Seconds()), 10)
		values[s.name+" pod"] = j.pod(&s)
		for _, status := range s.final {
			values[s.name+" final"] += fmt.Sprintf("- exitCode: %d\n  action: TerminateJob\n", status)
		}
	}
	return values
}

// formatDuration formats a duration without zero minutes and seconds.
func formatDuration(d time.Duration) string {
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = strings.TrimSuffix(text, zero[1:])
		}
	}
	return text
}

// pod returns the template of a pod. The restricted level of Pod Security admits the pod, and it needs no
// rights on the API. Service links are off: their variables could look like settings.
func (j *Job) pod(s *step) string {
	values := map[string]string{"labels": j.labels(), "image": yamlString(j.Image), "cpus": s.cpus, "memory": s.memory}
	for _, arg := range s.args {
		values["args"] += "- " + yamlString(strings.ReplaceAll(arg, "$", "$$")) + "\n" // $(NAME) would be a variable
	}
	if j.Secret != "" {
		values["secret"] = fmt.Sprintf("envFrom: [{secretRef: {name: %s}}]", yamlString(j.Secret))
	}
	return render("pod.yaml", values)
}

// labels identify an object as a part of this run.
func (j *Job) labels() string {
	const longest, ends = 63, "._-"
	run := strings.TrimLeft(j.Run, ends)
	run = strings.TrimRight(run[:min(len(run), longest)], ends)
	return fmt.Sprintf("{app.kubernetes.io/name: dumptool, app.kubernetes.io/instance: %s}", yamlString(run))
}

// WriteKubernetes returns a manifest of an Indexed Job for the shards and a Job for the merge. Jobs
// cannot depend on Jobs: both start at once, and the merge waits for the shards' documents.
func (j *Job) WriteKubernetes() (string, error) {
	if j.N > MaxIndexed {
		return "", lang.Errorf("-n %d: an Indexed Job of Kubernetes has at most %d shards", j.N, MaxIndexed)
	}
	if err := j.checkText(); err != nil {
		return "", err
	}
	return render("kubernetes.yaml", j.values()), nil
}

// Volcano returns a manifest of one Volcano job with a task for each step. The job is complete when
// the merge is complete. In all versions of Volcano a failed or evicted pod restarts the job;
// finished work is kept. Policies of a task take precedence over policies of the job.
func (j *Job) Volcano() (string, error) {
	if err := j.checkText(); err != nil {
		return "", err
	}
	return render("volcano.yaml", j.values()), nil
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

// checkText refuses texts that YAML cannot hold.
func (j *Job) checkText() error {
	for _, list := range j.userTexts() {
		for _, w := range list {
			if !utf8.ValidString(w) {
				return lang.Errorf("argument %q is no UTF-8, which manifests cannot hold", w)
			}
		}
	}
	return nil
}
