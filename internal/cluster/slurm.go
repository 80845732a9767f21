package cluster

import (
	"fmt"
	"strings"
	"unicode"

	"dumptool/internal/lang"
)

// Slurm is a script that submits the job: an array for the shards, and the merge behind
// it, with afterany, because with afterok a shard that failed and was run again with
// success would keep the merge waiting for ever.
func (j *Job) Slurm() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("#!/bin/bash")
	line("# %s", comment(j.Line))
	line("#")
	line("#   bash submit.sh           submits all of it")
	line("#   bash submit.sh repair    submits the shards that are missing, and the merge, again")
	line("set -euo pipefail")
	line("")
	line("array=0-%d", j.N-1)
	line("after=()")
	line("if [ \"${1-}\" = repair ]; then")
	line("\tarray=$(dumptool %s)", lang.ShellLine(j.Missing))
	line("fi")
	line("")
	line("if [ -n \"$array\" ]; then")
	shard := j.shardArgs()
	command := lang.ShellLine(shard)
	if !j.OwnWorkers { // which the script of the task fills in
		end := len(shard) - len(j.Shard) + flagsEnd(j.Shard)
		command = lang.ShellLine(shard[:end]) + ` -j "${SLURM_CPUS_PER_TASK:-1}"`
		if end < len(shard) {
			command += " " + lang.ShellLine(shard[end:])
		}
	}
	submit(&b, "\tshards", fmt.Sprintf("--job-name=%s-shards --array=\"$array\" --requeue --cpus-per-task=%d --mem=%s",
		j.Name, j.CPUs, slurmMemory(j.Memory)), command)
	line("\tafter=(\"--dependency=afterany:${shards%%;*}\")")
	line("fi")
	submit(&b, "merge", fmt.Sprintf("--job-name=%s-merge ${after[@]+\"${after[@]}\"} --mem=%s", j.Name, slurmMemory(j.MergeMemory)), lang.ShellLine(j.Merge))
	line("echo \"shards ${shards-none}, merge $merge\"")
	return b.String()
}

// submit adds a call of sbatch with the script of a job, and keeps the number of the job
// in a variable.
func submit(b *strings.Builder, variable, options, command string) {
	fmt.Fprintf(b, "%s=$(sbatch --parsable %s <<'END'\n#!/bin/bash\nexec dumptool %s\nEND\n)\n", variable, options, command)
}

// slurmMemory is an amount of memory as Slurm has it: 8G for 8Gi.
func slurmMemory(size string) string { return strings.TrimSuffix(size, "i") }

// comment is the command line in a comment, with ? for what neither a line of a shell nor
// one of YAML can have.
func comment(words []string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, "Made by: "+lang.ShellLine(words))
}
