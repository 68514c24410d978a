package io.headrace.operators;

import java.lang.reflect.Field;
import java.lang.reflect.Method;

/** What Spark's objects are made of, where they offer no way to it. */
public final class Inside {
    private static final String OTHERWISE = "this Spark is made otherwise";

    private Inside() {}

    /**
     * Gives a part of an object.
     *
     * @param object has the part
     * @param type the class that declares it
     * @param name the field
     */
    @SuppressWarnings("unchecked")
    public static <T> T part(Object object, Class<?> type, String name) {
        try {
            Field field = type.getDeclaredField(name);
            field.setAccessible(true);
            return (T) field.get(object);
        } catch (ReflectiveOperationException error) {
            throw new IllegalStateException(OTHERWISE, error);
        }
    }

    /**
     * Gives what a method of an object gives, which takes nothing.
     *
     * @param object has the method
     * @param type the class that declares it
     * @param name the method
     */
    @SuppressWarnings("unchecked")
    public static <T> T call(Object object, Class<?> type, String name) {
        try {
            Method method = type.getDeclaredMethod(name);
            method.setAccessible(true);
            return (T) method.invoke(object);
        } catch (ReflectiveOperationException error) {
            throw new IllegalStateException(OTHERWISE, error);
        }
    }
}
