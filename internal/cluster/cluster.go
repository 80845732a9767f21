// Package cluster writes jobs for existing schedulers that run one command of dumptool in shards:
// first the shards, then the merge. It submits nothing. On one machine it can run the job itself.
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

// Job describes the work of a command in shards. Arguments are arguments of dumptool, beginning
// with the name of the command.
type Job struct {
	// Line is the original command line, for a comment.
	Line []string
	// Name is the prefix of the names of jobs; Run distinguishes runs of the same work.
	Name, Run string
	// N is the number of shards, Parallel the number that run concurrently; 0 lets the scheduler
	// decide.
	N, Parallel int
	// Shard is the command of a shard, without the flags for its index and its workers.
	Shard []string
	// OwnWorkers: Shard already has the number of workers (-j).
	OwnWorkers bool
	// Merge is the command that merges the shards' results. With the flag missing it prints the
	// numbers of the shards that still have to run.
	Merge []string

	// CPUs and Memory are the resources of a shard, MergeMemory of the merge. Memory has the form
	// of Kubernetes: 512Mi, 8Gi.
	CPUs                int
	Memory, MergeMemory string

	// Sbatch lists further arguments of sbatch, Logs is the local folder of the logs.
	Sbatch []string
	Logs   string

	// Image is the container image with dumptool, Secret the secret with the keys of the object
	// storage; empty for none.
	Image, Secret string
	// Deadline limits the run time of shards, and the waiting time of the merge.
	Deadline time.Duration
	// Queue is the queue of Volcano, empty for the default.
	Queue string
}

// missingFlag is the flag with which a merge prints the missing shards.
const missingFlag = "--missing"

// memoryForm matches an amount of memory.
var memoryForm = lang.Pattern(`^[1-9][0-9]{0,8}[MG]i$`)

// nameForm matches the name of a job: a DNS label, as Kubernetes requires, with room for -shards.
var nameForm = lang.Pattern(`^[a-z]([-a-z0-9]{0,40}[a-z0-9])?$`)

// Check returns an error for an invalid field that users set.
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
	for _, args := range j.userTexts() {
		for _, a := range args {
			if err := checkControl(a); err != nil {
				return err
			}
		}
	}
	return nil
}

// userTexts returns all user texts in scripts and manifests.
func (j *Job) userTexts() [][]string {
	return [][]string{j.Line, j.Shard, j.Merge, j.Sbatch, {j.Run, j.Logs, j.Image, j.Secret, j.Queue}}
}

// checkControl refuses control characters: sbatch and its shells lose some, and a line break may
// end the surrounding text.
func checkControl(word string) error {
	n := 0
	for _, r := range word {
		if n++; unicode.IsControl(r) {
			return lang.Errorf("argument %q: its character %d is the control character U+%04X, which scripts and manifests cannot hold", word, n, r)
		}
	}
	return nil
}

// ShardArgs returns the arguments of one shard, without the workers.
func (j *Job) ShardArgs(i int) []string {
	return insertFlags(j.Shard, "--shard", fmt.Sprintf("%d/%d", i, j.N))
}

// shardArgs returns the arguments of every shard on a scheduler, without the workers. A repeated
// shard keeps its finished work.
func (j *Job) shardArgs() []string {
	return insertFlags(j.Shard, "--shard", "auto/"+strconv.Itoa(j.N), "--resume")
}

// mergeArgs returns the arguments of the merge on a scheduler. Problems that it finds must not fail
// the job.
func (j *Job) mergeArgs(more ...string) []string {
	return insertFlags(j.Merge, append(more, "--exit-zero")...)
}

// Comment returns the command line as a comment, with ? for characters that shell and YAML comments
// cannot contain.
func (j *Job) Comment() string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, "Made by: "+lang.ShellLine(j.Line))
}

// insertFlags inserts flags before a --.
func insertFlags(args []string, flags ...string) []string {
	end := flagsEnd(args)
	return slices.Concat(args[:end], flags, args[end:])
}

// flagsEnd returns the index of -- in the arguments, or their number.
func flagsEnd(args []string) int {
	if i := slices.Index(args, "--"); i >= 0 {
		return i
	}
	return len(args)
}
