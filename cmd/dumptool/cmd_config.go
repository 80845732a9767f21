package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"dumptool/internal/dumpconf"
)

func newConfigCommand(a *app) *cobra.Command {
	cmd := newGroup(&cobra.Command{
		Use:   "config",
		Short: "write, check and explain dump configurations",
		Long: `config has commands for the files that say what Ascend software dumps:
acl.json of the ACL runtime, the file that MINDSPORE_DUMP_CONFIG names, and the
dump options of the graph engine and the TensorFlow adapter, written as flat
JSON. Which of them a file is shows in its keys.`,
	})
	cmd.Long += exitStatus(exitFound, exitInterrupted)
	cmd.AddCommand(
		newConfigNewCommand(a),
		newConfigCheckCommand(a),
		newConfigExplainCommand(a),
		newConfigConvertCommand(a),
	)
	return cmd
}

// configTarget are the flags about what a configuration is for.
type configTarget struct {
	schema, version, soc, backend string
	devices                       deviceIDs
}

// configBackends are the backends of MindSpore.
var configBackends = []string{"ge", "ms_backend", "O0", "O1", "O2", "pynative"}

// checkedSchemas are the schemas that files can be checked as.
var checkedSchemas = []dumpconf.Schema{dumpconf.SchemaACL, dumpconf.SchemaMindSpore, dumpconf.SchemaGE, dumpconf.SchemaTF, dumpconf.SchemaMsprobe}

// schemaNames returns the names of schemas.
func schemaNames(all []dumpconf.Schema) []string {
	var list []string
	for _, s := range all {
		list = append(list, s.String())
	}
	return list
}

func (o *configTarget) addFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.schema, "schema", "", "the file is of this `SCHEMA`: acl, mindspore, ge, tf or msprobe; default: as its keys say")
	harmless(cmd.Flags(), "schema")
	completeValues(cmd, "schema", schemaNames(checkedSchemas))
	o.addMakingFlags(cmd)
}

// addMakingFlags adds the flags that also apply to files that do not exist.
func (o *configTarget) addMakingFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&o.version, "target-version", "", "the file is for release `V` of CANN, or of MindSpore, such as 8.0 or 2.3.1; default: the newest")
	flags.StringVar(&o.soc, "soc", "", "the file is for `PRODUCT`, such as Ascend910B, A2 or 310P; cpu or gpu for MindSpore without NPU")
	flags.StringVar(&o.backend, "backend", "", "MindSpore runs on `BACKEND`: ge, ms_backend, O0, O1, O2 or pynative")
	flags.Var(&o.devices, "device", "`IDS` of the devices that will be used")
	harmless(flags, "target-version", "soc", "backend", "device")
	completeValues(cmd, "backend", configBackends)
	completeValues(cmd, "soc", []string{"A2", "A3", "Ascend310P", "Ascend910", "Ascend910B", "cpu", "gpu"})
}

// resolve checks the flags.
func (o *configTarget) resolve() (dumpconf.Options, error) {
	opt := dumpconf.Options{SoC: o.soc}
	if o.schema != "" {
		name, err := oneOf("--schema", o.schema, schemaNames(checkedSchemas))
		if err != nil {
			return opt, err
		}
		opt.Schema, _ = dumpconf.ParseSchema(name)
	}
	if o.version != "" {
		var err error
		if opt.TargetVersion, err = dumpconf.ParseVersion(o.version); err != nil {
			return opt, usagef("--target-version %s: %v", o.version, err)
		}
	}
	if o.backend != "" {
		same := func(name string) bool { return strings.EqualFold(name, strings.ReplaceAll(o.backend, "-", "_")) }
		i := slices.IndexFunc(configBackends, same)
		if i < 0 {
			return opt, usagef("--backend %s: want one of %s", o.backend, strings.Join(configBackends, ", "))
		}
		opt.Backend = configBackends[i]
	}
	opt.Devices = o.devices.ids
	return opt, nil
}

// deviceIDs are the ids of devices on a command line. It has the methods of a
// flag value.
type deviceIDs struct{ ids []uint64 }

// String implements the value of a flag.
func (d *deviceIDs) String() string { return strings.Join(d.GetSlice(), ",") }

// Type implements the value of a flag: it names the value in the help.
func (d *deviceIDs) Type() string { return "IDS" }

// Set implements the value of a flag.
func (d *deviceIDs) Set(text string) error {
	for part := range strings.SplitSeq(text, ",") {
		if err := d.Append(part); err != nil {
			return err
		}
	}
	return nil
}

// Append implements pflag.SliceValue.
func (d *deviceIDs) Append(text string) error {
	id, err := strconv.ParseUint(strings.TrimSpace(text), 10, 31)
	if err != nil {
		return fmt.Errorf("ids of devices are numbers such as 0,1 and have no sign, found %q", text)
	}
	d.ids = append(d.ids, id)
	return nil
}

// Replace implements pflag.SliceValue.
func (d *deviceIDs) Replace(texts []string) error {
	d.ids = nil
	return d.Set(strings.Join(texts, ","))
}

// GetSlice implements pflag.SliceValue.
func (d *deviceIDs) GetSlice() []string {
	var out []string
	for _, id := range d.ids {
		out = append(out, strconv.FormatUint(id, 10))
	}
	return out
}
