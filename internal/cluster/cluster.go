// Package cluster writes down, for schedulers that exist, jobs that do the work of one
// command of dumptool in shards: first the shards, then the merge. It submits nothing. On
// one machine it runs them itself.
package cluster

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"dumptool/internal/lang"
)

// Job is the work of a command in shards. Arguments are those of dumptool, from the
// name of the command on.
type Job struct {
	// Line is the command line that the job is made from, for a comment.
	Line []string
	// Name begins the names of its jobs, Run tells runs of the same work apart.
	Name, Run string
	// N is the number of shards, Parallel how many run at a time; 0 means as many as the
	// scheduler has room for.
	N, Parallel int
	// Shard does a part of the work, but for what says which, and how many workers.
	Shard []string
	// OwnWorkers says that Shard has the number of workers (-j).
	OwnWorkers bool
	// Merge makes the result of what the shards wrote. With missing it prints the numbers
	// of the shards that have still to be run.
	Merge []string

	// CPUs are those of a shard; Memory is that of a shard, MergeMemory that of the merge,
	// as Kubernetes has them: 512Mi, 8Gi.
	CPUs                int
	Memory, MergeMemory string

	// Sbatch are more arguments of sbatch, Logs is the local folder of the logs.
	Sbatch []string
	Logs   string

	// Image is the container with dumptool, Secret the secret with the keys of the
	// object storage; empty for none.
	Image, Secret string
	// Deadline is how long shards may take, and how long the merge waits for them.
	Deadline time.Duration
	// Queue is that of Volcano, empty for the default one.
	Queue string
	// Patches change the manifests.
	Patches []Patch
}

// missing is the flag of merges that print which shards are missing.
const missing = "--missing"

// memoryForm is an amount of memory.
var memoryForm = lang.Pattern(`^[1-9][0-9]{0,8}[MG]i$`)

// nameForm is the name of a job, with room for -shards behind it: a label of DNS, as
// Kubernetes wants.
var nameForm = lang.Pattern(`^[a-z]([-a-z0-9]{0,40}[a-z0-9])?$`)

// Check says what is wrong with the fields that users set.
func (j *Job) Check() error {
	switch {
	case !nameForm().MatchString(j.Name):
		return lang.Errorf("--name %s: want at most 42 small letters, digits and -, from a letter on", j.Name)
	case j.CPUs < 1 || j.CPUs > 1<<16:
		return lang.Errorf("--cpus %d: want at least 1", j.CPUs)
	case j.Deadline < time.Second:
		return lang.Errorf("--deadline %v: want a time such as 6h", j.Deadline)
	}
	for _, m := range []struct{ flag, size string }{{"--memory", j.Memory}, {"--merge-memory", j.MergeMemory}} {
		if !memoryForm().MatchString(m.size) {
			return lang.Errorf("%s %s: want an amount such as 512Mi or 8Gi", m.flag, m.size)
		}
	}
	if err := checkSbatch(j.Sbatch); err != nil {
		return err
	}
	for _, args := range j.words() {
		for _, a := range args {
			if err := checkControl(a); err != nil {
				return err
			}
		}
	}
	return nil
}

// words are all the texts of users that scripts and manifests hold.
func (j *Job) words() [][]string {
	return [][]string{j.Line, j.Shard, j.Merge, j.Sbatch, {j.Run, j.Logs, j.Image, j.Secret, j.Queue}}
}

// checkControl refuses control characters. On their way through sbatch and its shells
// some are lost, and a line break may end what it stands in.
func checkControl(word string) error {
	n := 0
	for _, r := range word {
		if n++; unicode.IsControl(r) {
			return lang.Errorf("argument %q: its character %d is the control character U+%04X, which scripts and manifests cannot hold", word, n, r)
		}
	}
	return nil
}

// ShardArgs are the arguments of one shard, without the workers.
func (j *Job) ShardArgs(i int) []string {
	return withFlags(j.Shard, "--shard", fmt.Sprintf("%d/%d", i, j.N))
}

// shardArgs are the arguments of each shard on a scheduler, without the workers. A shard
// that is run again keeps what it has done.
func (j *Job) shardArgs() []string {
	return withFlags(j.Shard, "--shard", "auto/"+strconv.Itoa(j.N), "--resume")
}

// mergeArgs are the arguments of the merge on a scheduler: what it finds is no failure of
// the job.
func (j *Job) mergeArgs(more ...string) []string {
	return withFlags(j.Merge, append(more, "--exit-zero")...)
}

// comment is the command line in a comment, with ? for what neither a line of a shell nor
// one of YAML can have.
func (j *Job) comment() string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, "Made by: "+lang.ShellLine(j.Line))
}

// withFlags adds flags to arguments, before those that are behind --.
func withFlags(args []string, flags ...string) []string {
	end := flagsEnd(args)
	return slices.Concat(args[:end], flags, args[end:])
}

// flagsEnd is where the flags of arguments end.
func flagsEnd(args []string) int {
	if i := slices.Index(args, "--"); i >= 0 {
		return i
	}
	return len(args)
}
