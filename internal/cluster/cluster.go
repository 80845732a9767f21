// Package cluster writes down, for schedulers that exist, jobs that do the work of one
// command of dumptool in shards: first a plan, where the command has one, then the
// shards, then the merge. It submits nothing. On one machine it runs them itself.
package cluster

import (
	"fmt"
	"slices"
	"strconv"
	"unicode"

	"dumptool/internal/lang"
	"dumptool/internal/store"
)

// Job is the work of a command in shards. Arguments are those of dumptool, from the
// name of the command on.
type Job struct {
	// Line is the command line that the job is made from, for a comment.
	Line []string
	// Name begins the names of its jobs.
	Name string
	// N is the number of shards.
	N int
	// Plan makes PlanFile; both are empty for commands without a plan.
	Plan     []string
	PlanFile string
	// Shard does a part of the work, but for what says which, and how many workers.
	Shard []string
	// OwnWorkers says that Shard has the number of workers (-j).
	OwnWorkers bool
	// Merge makes the result of the parts in the folder Parts.
	Merge []string
	// Missing prints the numbers of missing shards, nil for commands that cannot.
	Missing []string
	Parts   string

	// CPUs are those of a shard; Memory is that of a shard, MergeMemory that of plan and
	// merge, as Kubernetes has them: 512Mi, 8Gi.
	CPUs                int
	Memory, MergeMemory string
	// Image is the container with dumptool, Secret the secret with the keys of the
	// object storage.
	Image, Secret string
}

// memoryForm is an amount of memory.
var memoryForm = lang.Pattern(`^[1-9][0-9]{0,8}[MG]i$`)

// nameForm is the name of a job, with room for -shards behind it: a label of DNS, as
// Kubernetes wants.
var nameForm = lang.Pattern(`^[a-z]([-a-z0-9]{0,40}[a-z0-9])?$`)

// Check says what is wrong with the fields that users set.
func (j *Job) Check() error {
	switch {
	case !nameForm().MatchString(j.Name):
		return fmt.Errorf("--name %s: want at most 42 small letters, digits and -, from a letter on", j.Name)
	case j.CPUs < 1 || j.CPUs > 1<<16:
		return fmt.Errorf("--cpus %d: want at least 1", j.CPUs)
	}
	for _, m := range []struct{ flag, size string }{{"--memory", j.Memory}, {"--merge-memory", j.MergeMemory}} {
		if !memoryForm().MatchString(m.size) {
			return fmt.Errorf("%s %s: want an amount such as 512Mi or 8Gi", m.flag, m.size)
		}
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
	return [][]string{j.Line, j.Plan, j.Shard, j.Merge, j.Missing, {j.Image, j.Secret}}
}

// checkControl refuses control characters. On their way through sbatch and its shells
// some are lost, and a line break may end what it stands in.
func checkControl(word string) error {
	n := 0
	for _, r := range word {
		if n++; unicode.IsControl(r) {
			return fmt.Errorf("argument %q: its character %d is the control character U+%04X, which scripts and manifests cannot hold", word, n, r)
		}
	}
	return nil
}

// shardArgs are the arguments of each shard on a scheduler, without the workers.
func (j *Job) shardArgs() []string { return withFlags(j.Shard, "--shard", "auto/"+strconv.Itoa(j.N)) }

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

// Local are the paths of the job that are not in object storage, which every machine has
// to have at the same place.
func (j *Job) Local() []string {
	var all []string
	for _, path := range []string{j.PlanFile, j.Parts} {
		if path != "" && !store.Remote(path) {
			all = append(all, path)
		}
	}
	return all
}
