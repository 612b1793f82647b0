# SPDX-License-Identifier: GPL-2.0
# SystemTap: stacks at an entry and at a return are those of the caller.
script
ours 1 ' k +vfs_rmdir\+'
ours 1 ' r +vfs_rmdir\+'
mkdir one two
rmdir one
rmdir two
stop
# Two kernels do not have their functions in the same places.
awk 'NR == FNR {
		if ($2 ~ /[tT]/) { at[++n] = $1; name[n] = $3 }
		next
	}
	{
		for (word = 1; word <= NF; word++)
			if ($word ~ /^0x/)
				for (i = n; i; i--)
					if (at[i] <= substr($word, 3)) {
						$word = name[i]
						break
					}
		print
	}' /kernel/System.map out
nobody .
