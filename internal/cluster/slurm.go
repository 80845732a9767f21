package cluster

import (
	"fmt"
	"slices"
	"strings"

	"dumptool/internal/lang"
)

// Slurm returns a script that submits the job: an array of the missing shards, and the merge after
// it. The dependency is afterany: with afterok, a shard that failed and succeeded in a later run
// would block the merge forever. Running the script again repairs the job.
func (j *Job) Slurm() string {
	var b strings.Builder
	fmt.Fprintf(&b, `#!/bin/bash
# %s
#
#   bash %s    submits the shards that are not complete, and the merge behind them.
#                     The same again repairs: what is complete stays.
set -euo pipefail

n=%d
logs=%s
if [ "${1-repair}" != repair ]; then
	echo "$0: argument $1: it takes none" >&2
	exit 2
fi
most=$(scontrol show config 2>/dev/null | sed -n 's/^MaxArraySize *= *\([0-9][0-9]*\)$/\1/p' || true)
if [ "$n" -gt "${most:-$n}" ]; then
	echo "$0: $n shards, and this Slurm has arrays of at most $most (MaxArraySize): make the script with -n $most or less" >&2
	exit 2
fi
if command -v dumptool >/dev/null; then
	array=$(dumptool %s)
else
	echo "$0: there is no dumptool here to say what is complete: all shards are submitted" >&2
	array=0-$((n - 1))
fi
mkdir -p "$logs"

after=()
if [ -n "$array" ]; then
`, j.Comment(), scriptName, j.N, lang.ShellWord(j.Logs), lang.ShellLine(insertFlags(j.Merge, missingFlag)))
	limit := ""
	if j.Parallel > 0 {
		limit = fmt.Sprintf("%%%d", j.Parallel)
	}
	j.submit(&b, "\tshards", `--job-name=`+j.Name+`-shards --array="$array`+limit+`" --requeue`, "shard-%5a", j.CPUs, j.Memory, j.shardCommand())
	b.WriteString("\tafter=(\"--dependency=afterany:${shards%%;*}\" --kill-on-invalid-dep=yes)\nfi\n")
	j.submit(&b, "merge", `--job-name=`+j.Name+`-merge ${after[@]+"${after[@]}"}`, "merge", 1, j.MergeMemory, lang.ShellLine(j.mergeArgs()))
	b.WriteString("echo \"logs in $logs\" >&2\necho \"shards ${shards-none}, merge ${merge%%;*}\"\n")
	return b.String()
}

// scriptName is the name of the script in its texts.
const scriptName = "submit.sh"

// shardCommand returns the command of a shard in its task's script, which fills in the number of
// workers.
func (j *Job) shardCommand() string {
	shard := j.shardArgs()
	if j.OwnWorkers {
		return lang.ShellLine(shard)
	}
	end := len(shard) - len(j.Shard) + flagsEnd(j.Shard)
	command := lang.ShellLine(shard[:end]) + ` -j "${SLURM_CPUS_PER_TASK:-1}"`
	if end < len(shard) {
		command += " " + lang.ShellLine(shard[end:])
	}
	return command
}

// submit adds a call of sbatch with the script of a job, and stores the job id in a variable. A
// repeated job appends to its log. % in the folder of the logs is escaped, since sbatch expands it.
func (j *Job) submit(b *strings.Builder, variable, options, log string, cpus int, memory, command string) {
	options += fmt.Sprintf(` --cpus-per-task=%d --mem=%s --output="${logs//%%/%%%%}"/%s.out --open-mode=append`, cpus, strings.TrimSuffix(memory, "i"), log)
	if len(j.Sbatch) > 0 {
		options += " " + lang.ShellLine(j.Sbatch)
	}
	fmt.Fprintf(b, "%s=$(sbatch --parsable %s <<'END'\n#!/bin/bash\nexec dumptool %s\nEND\n)\n", variable, options, command)
}

// reservedOptions lists the options of sbatch that scripts set, and options that would change the meaning of a
// script.
var reservedOptions = []string{"--array", "-a", "--dependency", "-d", "--job-name", "-J", "--kill-on-invalid-dep", "--parsable", "--wrap", "--help", "-h", "--usage", "--version", "-V", "--test-only"}

// checkSbatch refuses arguments that make sbatch do anything but submit the job.
func checkSbatch(args []string) error {
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		return lang.Errorf("--sbatch %s: want an option of sbatch such as --partition=NAME", args[0])
	}
	for _, a := range args {
		name, _, _ := strings.Cut(a, "=")
		short := len(a) > 1 && a[0] == '-' && a[1] != '-'
		if short {
			name = a[:2]
		}
		if a == "--" || slices.Contains(reservedOptions, name) {
			return lang.Errorf("--sbatch %s: the script sets this option itself", a)
		}
	}
	return nil
}

// SplitWords splits a line as a shell does, without variables and other expansions: at blanks
// outside of quotes and not behind a backslash.
func SplitWords(line string) (words []string, err error) {
	var word strings.Builder
	var quote rune // 0 outside of quotes
	inWord, escaped := false, false
	for _, r := range line {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			escaped, inWord = true, true
		case r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, inWord = r, true
		case r == ' ' || r == '\t':
			if inWord {
				words = append(words, word.String())
			}
			word.Reset()
			inWord = false
		default:
			word.WriteRune(r)
			inWord = true
		}
	}
	if quote != 0 || escaped {
		return nil, lang.Errorf("unterminated quote or trailing backslash")
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, nil
}
